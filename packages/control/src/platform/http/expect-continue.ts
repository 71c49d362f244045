import type { FastifyInstance } from 'fastify'

/**
 * Answers `Expect: 100-continue` only after admission, while Node would answer at once.
 *
 * Other expectations are ignored: RFC 9110 allows that, and Node's own refusal has no body. A refusal closes the
 * connection, because it is unknown whether the body follows (RFC 9110, 10.1.1).
 */
export function registerExpectContinue(app: FastifyInstance): void {
  const awaiting = new WeakSet<object>()
  app.server.on('checkContinue', (request, response) => {
    awaiting.add(request)
    app.routing(request, response)
  })
  app.server.on('checkExpectation', (request, response) => app.routing(request, response))
  // This hook runs after the hooks that refuse and before the body is read.
  app.addHook('preParsing', async ({ raw }, reply) => {
    if (awaiting.delete(raw)) reply.raw.writeContinue()
  })
  app.addHook('onSend', async ({ raw }, reply) => {
    if (awaiting.has(raw)) reply.header('connection', 'close')
  })
}
