const SHORTEST_MS = 20
const LONGEST_MS = 100
/** Maximum pause as a share of the elapsed time: so much may polling add to a wait. */
const SHARE = 0.1

/** @returns milliseconds until the next poll. Long waits poll less often, to leave the CPU to the awaited work */
export function pauseAfter(takenMs: number, shortestMs = SHORTEST_MS): number {
  return Math.max(shortestMs, Math.min(LONGEST_MS, takenMs * SHARE))
}
