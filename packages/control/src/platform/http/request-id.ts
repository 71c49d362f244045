import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'

export const REQUEST_ID = 'x-request-id'

/** Printable ASCII, at most 64 characters. */
const USABLE = /^[\x20-\x7e]{1,64}$/

/** The caller's own id if it is valid, else a fresh one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers[REQUEST_ID]
  return typeof given === 'string' && USABLE.test(given) ? given : randomUUID()
}

/** Sets the header before any other hook, so that refusals carry it too. */
export function registerRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID, request.id)
    // Node would refuse this itself (RFC 9112, 3.2), but without a body and without the id.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
      throw new ApiError('invalidField', { error: 'host required' })
  })
}
