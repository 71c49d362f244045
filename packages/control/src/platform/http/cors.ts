import type { FastifyInstance } from 'fastify'

const ALLOWED_HEADERS = `authorization, content-type, idempotency-cancel, idempotency-key, last-event-id,
  x-offshoot-org, x-request-id`.replaceAll(/\s+/g, ' ')
const EXPOSED_HEADERS = 'content-range, idempotent-replayed, last-event-id, link, retry-after, x-request-id'
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
/** Seconds for which a browser may cache the response to a preflight. */
const PREFLIGHT_SECONDS = '600'

/**
 * Opens the API to the configured origins. Answers every `OPTIONS` before the credential check, because a preflight has
 * no credential.
 */
export function registerCors(app: FastifyInstance, origins: readonly string[]): void {
  const allowed = new Set(origins)
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    reply.header('vary', 'origin')
    if (origin !== undefined && allowed.has(origin)) {
      reply.header('access-control-allow-origin', origin)
      reply.header('access-control-expose-headers', EXPOSED_HEADERS)
    }
    if (request.method !== 'OPTIONS') return
    if (origin !== undefined && allowed.has(origin)) {
      reply.header('access-control-allow-methods', ALLOWED_METHODS)
      reply.header('access-control-allow-headers', ALLOWED_HEADERS)
      reply.header('access-control-max-age', PREFLIGHT_SECONDS)
    }
    await reply.code(204).send()
  })
}
