import type { FastifyInstance, FastifyRequest } from 'fastify'

/** One line a request, at its end. The path goes without its query: that may hold a credential. */
export function registerRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, log } = request
    const ms = Math.round(reply.elapsedTime * 10) / 10
    log.info({ method, path: shownPath(request), status: reply.statusCode, ms }, 'request')
  })
}

/** A few paths hold a credential themselves: what accepts an invitation, what resets a password. */
function shownPath({ url, params, routeOptions }: FastifyRequest): string {
  const { url: route = '' } = routeOptions
  if (typeof params === 'object' && params !== null && 'token' in params) return route
  const [path = ''] = url.split('?', 1)
  // Of the accounts' routes the name of the operation, and not what may follow it.
  return route === '/api/auth/*' ? path.split('/').slice(0, 4).join('/') : path
}
