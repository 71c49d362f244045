/** Converts micro-dollars to dollars. Exact. */
export function usd(microUsd: number): number {
  return microUsd / 1_000_000
}
