import type { FastifyReply, FastifyRequest } from 'fastify'

/** Aborts when the caller's connection closes before the answer was sent. */
export function hangUpSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const hangUp = () => controller.abort(new Error('the caller hung up'))
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) hangUp()
  })
  // The caller may have hung up during the lookup of the sandbox.
  if (request.raw.socket.destroyed) hangUp()
  return controller.signal
}
