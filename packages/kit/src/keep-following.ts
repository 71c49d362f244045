import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds before reconnecting. The first retry is early, because a restarted service is back soon. */
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

interface Followed {
  /** Connects, calls `onConnected`, and reads until the stream ends. It is called again whenever it ends or fails. */
  readonly follow: (onConnected: () => void) => Promise<void>
  /** Called with the first error of an outage. The errors of the retries are not reported. */
  readonly onOutage: (error: unknown) => void
}

/** Follows the stream of another service until `stopped` aborts. The pause before a retry doubles while it is away. */
export async function keepFollowing({ follow, onOutage }: Followed, stopped: AbortSignal): Promise<void> {
  let retryMs = FIRST_RETRY_MS
  let isAway = false
  const onConnected = () => {
    retryMs = FIRST_RETRY_MS
    isAway = false
  }
  while (!stopped.aborted) {
    try {
      await follow(onConnected)
    } catch (error) {
      if (!stopped.aborted && !isAway) onOutage(error)
      isAway = true
    }
    await delay(retryMs, undefined, { signal: stopped }).catch(() => undefined)
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
  }
}
