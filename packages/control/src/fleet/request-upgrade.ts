import { request as httpRequest } from 'node:http'
import { sendUpgrade, type UpgradeAnswer } from '@offshoot/kit/http-upgrades'

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
    return await sendUpgrade(request)
  } finally {
    clearTimeout(timer)
  }
}
