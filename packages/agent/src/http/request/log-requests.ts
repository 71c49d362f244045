import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

const PRINTABLE = /^[\x20-\x7e]{1,64}$/

/** The caller's `X-Request-Id` where it is fit to be written to a log, else a fresh one. */
export function readRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && PRINTABLE.test(given) ? given : randomUUID()
}

/**
 * One line for each operation on a sandbox, at its end, under the id that the caller knows it by. Without the query: it
 * may name files. What control asks for itself every few seconds is left out.
 */
export function logRequests(server: FastifyInstance): void {
  server.addHook('onResponse', async (request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    if (!path.startsWith('/v1/sandboxes/')) return
    const { method, id } = request
    request.log.info(
      { request_id: id, method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    )
  })
}
