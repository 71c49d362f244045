import type { FastifyInstance } from 'fastify'

/** One line a request, at its end. The path goes without its query: that may hold a credential. */
export function registerRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1)
    const line = { method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 }
    request.log.info(line, 'request')
  })
}
