const FIRST_MS = 5_000
const FACTOR = 3
const LAST_MS = 4 * 3_600_000
/** An attempt that would be due later than the last moment is made then, unless that moment is this close. */
const LEAST_MS = 60_000

/**
 * Milliseconds until the next attempt, `null` if there is none: 5 s, 15 s, 45 s, … 4 h, each varied by a fifth, for a
 * day. The last attempt is made when the day ends.
 * @param tries attempts so far, at least 1
 * @param leftMs until the day ends
 * @param atLeastMs as the receiver asks; `null`: it does not
 */
export function retryDelay(
  tries: number,
  leftMs: number,
  atLeastMs: number | null,
  random = Math.random(),
): number | null {
  if (leftMs < LEAST_MS) return null
  const backoff = Math.min(LAST_MS, FIRST_MS * FACTOR ** (tries - 1)) * (0.8 + 0.4 * random)
  return Math.round(Math.min(Math.max(backoff, atLeastMs ?? 0), leftMs))
}
