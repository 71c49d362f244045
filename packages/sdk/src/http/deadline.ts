import { TimeoutError } from './errors.ts'

/** A signal that aborts with the caller's own, or when a time is over. */
export interface Deadline {
  readonly signal: AbortSignal
  /** From now on only the caller's signal counts. */
  stopClock(): void
  /** Stops the clock and lets go of the caller's signal. */
  end(): void
}

/** @param timeoutMs 0: no limit */
export function startDeadline(caller: AbortSignal | undefined, timeoutMs: number, what: string): Deadline {
  const controller = new AbortController()
  const onAbort = () => controller.abort(caller?.reason)
  if (caller?.aborted) onAbort()
  else caller?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs > 0
      ? setTimeout(() => controller.abort(new TimeoutError(`${what} took longer than ${timeoutMs} ms`)), timeoutMs)
      : undefined
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    end: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onAbort)
    },
  }
}

/** Waits. Rejects with the signal's reason if it aborts first. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
