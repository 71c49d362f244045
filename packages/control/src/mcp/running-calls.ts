import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Names one connection of a client of the protocol's earlier era, which sends it with every request. */
const SESSION_HEADER = 'mcp-session-id'

/** A message of JSON-RPC. The protocol's library checks it. */
type Message = Readonly<Record<string, unknown>>

/**
 * The calls that run, so that a client of the protocol's earlier era can cancel one by a second request. Later clients
 * close the connection of the call instead.
 *
 * The server keeps nothing about a session. Its random id only tells apart clients with the same credential, whose
 * requests have the same numbers. With several control processes a cancellation may reach another one and then has no effect.
 */
export class RunningCalls {
  readonly #running = new Map<string, AbortController>()

  /** A signal that aborts when the client cancels the call, until it is answered. */
  begin(request: FastifyRequest, reply: FastifyReply, { id }: Message): AbortSignal {
    const controller = new AbortController()
    const key = keyOf(request, id)
    if (key === null) return controller.signal
    this.#running.set(key, controller)
    reply.raw.once('close', () => {
      if (this.#running.get(key) === controller) this.#running.delete(key)
    })
    return controller.signal
  }

  /** Aborts the call that a message cancels. */
  cancel(request: FastifyRequest, { method, params }: Message): void {
    if (method !== 'notifications/cancelled' || typeof params !== 'object' || params === null) return
    const key = keyOf(request, (params as { requestId?: unknown }).requestId)
    if (key !== null) this.#running.get(key)?.abort(new Error('the client cancelled the call'))
  }
}

/** The header with the id of a new session, for the answer to a request that begins one. */
export function sessionHeader({ method }: Message): Record<string, string> {
  return method === 'initialize' ? { [SESSION_HEADER]: randomUUID() } : {}
}

/** `null` if the call cannot be named. */
function keyOf({ headers }: FastifyRequest, id: unknown): string | null {
  const session = headers[SESSION_HEADER]
  if (typeof session !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return null
  return JSON.stringify([headers.authorization, session, id])
}
