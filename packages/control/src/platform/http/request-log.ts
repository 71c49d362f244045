import type { FastifyInstance, FastifyRequest } from 'fastify'

/** One log line per request, at its end. The path is logged without its query, which may contain a credential. */
export function registerRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, log } = request
    const ms = Math.round(reply.elapsedTime * 10) / 10
    log.info({ method, path: shownPath(request), status: reply.statusCode, ms }, 'request')
  })
}

/**
 * The path for logs and traces, without its query. Some paths contain a credential themselves: accepting an invitation,
 * resetting a password. They are shown as their route.
 */
export function shownPath({ url, params, routeOptions }: FastifyRequest): string {
  const { url: route = '' } = routeOptions
  if (typeof params === 'object' && params !== null && 'token' in params) return route
  const [path = ''] = url.split('?', 1)
  // For the accounts' routes, log the operation's name but not the segments after it.
  return route === '/api/auth/*' ? path.split('/').slice(0, 4).join('/') : path
}
