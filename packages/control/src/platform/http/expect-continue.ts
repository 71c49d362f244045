import type { FastifyInstance } from 'fastify'

/**
 * Who asks with `Expect: 100-continue` sends its body only when it is let in, not at once, as Node would answer.
 * What else may be expected is no condition we know, and is passed over (RFC 9110 allows that, and Node's own refusal has no body).
 * A refusal closes the connection, since nobody can tell whether the body follows (RFC 9110, 10.1.1).
 */
export function registerExpectContinue(app: FastifyInstance): void {
  const awaiting = new WeakSet<object>()
  app.server.on('checkContinue', (request, response) => {
    awaiting.add(request)
    app.routing(request, response)
  })
  app.server.on('checkExpectation', (request, response) => app.routing(request, response))
  // Between the hooks that refuse and the reading of the body.
  app.addHook('preParsing', async ({ raw }, reply) => {
    if (awaiting.delete(raw)) reply.raw.writeContinue()
  })
  app.addHook('onSend', async ({ raw }, reply) => {
    if (awaiting.has(raw)) reply.header('connection', 'close')
  })
}
