import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import type { Duplex } from 'node:stream'

/** An agent's answer to an upgrade. */
export type UpgradeAnswer =
  | {
      readonly kind: 'upgraded'
      readonly response: IncomingMessage
      readonly socket: Duplex
      /** Bytes that arrived together with the answer. */
      readonly head: Buffer
    }
  | { readonly kind: 'refused'; readonly response: IncomingMessage }

interface UpgradeOptions {
  readonly headers: Record<string, string>
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Sends an upgrade on a connection of its own. It uses Node's client, because undici does not expose the body of a
 * refusal.
 */
export async function requestUpgrade(url: URL, { headers, timeoutMs, signal }: UpgradeOptions): Promise<UpgradeAnswer> {
  const request = httpRequest(url, { agent: false, headers, signal })
  const timer = setTimeout(
    () => request.destroy(new Error(`no answer to the upgrade within ${timeoutMs} ms`)),
    timeoutMs,
  )
  try {
    return await answerOf(request)
  } finally {
    clearTimeout(timer)
  }
}

function answerOf(request: ClientRequest): Promise<UpgradeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>()
  request.once('upgrade', (response, socket, head) => resolve({ kind: 'upgraded', response, socket, head }))
  request.once('response', (response) => resolve({ kind: 'refused', response }))
  request.on('error', reject)
  request.end()
  return promise
}
