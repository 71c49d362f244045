import type { FastifyReply, FastifyRequest } from 'fastify'

/** Aborts when the caller disconnects before it has the answer. */
export function hangUpOf(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const hangUp = new AbortController()
  const onClose = () => {
    if (!reply.raw.writableEnded) hangUp.abort()
  }
  reply.raw.once('close', onClose)
  if (request.raw.socket.destroyed) onClose()
  return hangUp.signal
}
