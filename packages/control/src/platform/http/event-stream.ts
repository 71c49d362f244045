import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Milliseconds between two comments, which show a reader and proxies that a silent stream lives. */
export const HEARTBEAT_MS = 15_000

/** Takes the answer over from the framework, with the headers that it has, and begins it as server-sent events. */
export function beginEventStream(reply: FastifyReply): ServerResponse {
  const own = reply.getHeaders() as Record<string, string | string[]>
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...own,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
  return raw
}
