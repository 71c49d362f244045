import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { sendUpgrade, type UpgradeAnswer } from '@offshoot/kit/http-upgrades'
import { connectToPeer, type Peer } from '@offshoot/kit/mutual-tls'

interface UpgradeOptions {
  readonly path: string
  readonly headers: Record<string, string>
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Sends an upgrade on a connection of its own. It uses Node's client, because undici does not expose the body of a
 * refusal.
 */
export async function requestUpgrade(
  peer: Peer,
  { path, headers, timeoutMs, signal }: UpgradeOptions,
): Promise<UpgradeAnswer> {
  const { host, port, tls } = peer
  const target = { host, port, path, headers, signal }
  // With `agent: false` Node would ignore `createConnection`.
  const request =
    tls === null
      ? httpRequest({ ...target, agent: false })
      : httpsRequest({ ...target, createConnection: () => connectToPeer(peer, { allowHalfOpen: false }) })
  const timer = setTimeout(
    () => request.destroy(new Error(`no answer to the upgrade within ${timeoutMs} ms`)),
    timeoutMs,
  )
  try {
    return await sendUpgrade(request)
  } finally {
    clearTimeout(timer)
  }
}
