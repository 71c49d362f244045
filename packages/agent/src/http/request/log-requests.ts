import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const PRINTABLE = /^[\x20-\x7e]{1,64}$/

/** The caller's `X-Request-Id` if it is safe to log, otherwise a new id. */
export function readRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && PRINTABLE.test(given) ? given : randomUUID()
}

/** The path of a request for logs and traces. Its query is left out because it can contain file names of a tenant. */
export function loggedPath({ url }: Pick<FastifyRequest, 'url'>): string {
  return url.split('?', 1)[0] ?? ''
}

/**
 * Logs one line for each finished request about a sandbox, with the caller's request id. Control's periodic requests, which
 * name no sandbox, are not logged.
 */
export function logRequests(server: FastifyInstance): void {
  server.addHook('onResponse', async (request, reply) => {
    const path = loggedPath(request)
    if (!path.startsWith('/v1/sandboxes/')) return
    const { method, id } = request
    request.log.info(
      { request_id: id, method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    )
  })
}
