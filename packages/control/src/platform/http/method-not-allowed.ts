import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, HTTPMethods } from 'fastify'

export const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']

/**
 * Records the methods of each path, and returns a function that adds a 405 with `Allow` for all other methods. Call
 * this before the first route is added, and the returned function after the last.
 */
export function watchMethods(app: FastifyInstance): () => void {
  const taken = new Map<string, Set<string>>()
  let isClosed = false
  app.addHook('onRoute', ({ url, method }) => {
    if (isClosed) return
    const methods = taken.get(url) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    taken.set(url, methods)
  })
  return () => {
    isClosed = true
    for (const [url, methods] of taken) refuseOthers(app, url, methods)
  }
}

function refuseOthers(app: FastifyInstance, url: string, methods: ReadonlySet<string>): void {
  const others = METHODS.filter((method) => !methods.has(method))
  if (others.length === 0) return
  const allow = [...methods, 'OPTIONS'].join(', ')
  app.route({
    method: others,
    url,
    config: { isRefusal: true },
    handler: (_request, reply) => {
      reply.header('allow', allow)
      throw new ApiError('methodNotAllowed')
    },
  })
}
