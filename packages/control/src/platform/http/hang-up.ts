import type { FastifyReply, FastifyRequest } from 'fastify'

/** Aborts when the connection closes before the answer is out. */
export function hangUpSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const hangUp = () => controller.abort(new Error('the caller hung up'))
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) hangUp()
  })
  // While the sandbox was looked up it may have happened already.
  if (request.raw.socket.destroyed) hangUp()
  return controller.signal
}
