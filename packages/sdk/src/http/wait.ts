import { delay, startDeadline } from './deadline.ts'
import { retryDelayMs } from './retries.ts'
import type { CallOptions } from './transport.ts'

/**
 * Looks again and again, less and less often, until there is a result. Without `timeoutMs` there is no limit.
 * @throws TimeoutError when the time is over, or the reason of the signal
 */
export async function waitFor<T>(
  what: string,
  { timeoutMs = 0, ...options }: CallOptions,
  look: (options: CallOptions) => Promise<T | null>,
): Promise<T> {
  const deadline = startDeadline(options.signal, timeoutMs, what)
  try {
    for (let attempt = 0; ; attempt++) {
      deadline.signal.throwIfAborted()
      const found = await look({ ...options, signal: deadline.signal })
      if (found !== null) return found
      await delay(Math.min(retryDelayMs(attempt, null) ?? 0, LONGEST_MS), deadline.signal)
    }
  } finally {
    deadline.end()
  }
}

/** Milliseconds between two looks at most. */
const LONGEST_MS = 1_000
