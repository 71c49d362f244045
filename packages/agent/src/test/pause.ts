const SHORTEST_MS = 20
const LONGEST_MS = 100
/** Of the time that it has taken so far: what waiting adds to it at most. */
const SHARE = 0.1

/** @returns milliseconds until the next look: what takes long is looked for less often, so that looking takes little from what is waited for */
export function pauseAfter(takenMs: number, shortestMs = SHORTEST_MS): number {
  return Math.max(shortestMs, Math.min(LONGEST_MS, takenMs * SHARE))
}
