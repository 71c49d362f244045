import { setTimeout as delay } from 'node:timers/promises'
import type { HandlerContext } from '@connectrpc/connect'

/**
 * The messages of a stream, and between them a message that keeps proxies from ending the connection, as often as the
 * client asked for.
 */
export async function* withKeepalives<T>(
  messages: AsyncGenerator<T>,
  context: HandlerContext,
  keepalive: T,
): AsyncGenerator<T> {
  const everyMs = intervalMs(context)
  if (everyMs === null) {
    yield* messages
    return
  }
  try {
    let next = messages.next()
    while (true) {
      const result = await within(everyMs, next)
      if (result?.done === true) return
      yield result === null ? keepalive : result.value
      if (result !== null) next = messages.next()
    }
  } finally {
    await messages.return(undefined)
  }
}

/** `null` if the promise takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const timer = new AbortController()
  try {
    return await Promise.race([promise, delay(ms, null, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}

/** `null` if the client asked for none. */
function intervalMs({ requestHeader }: HandlerContext): number | null {
  const seconds = Number(requestHeader.get('keepalive-ping-interval') ?? Number.NaN)
  return Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : null
}
