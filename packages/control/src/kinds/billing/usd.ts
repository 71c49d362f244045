/** Dollars of millionths of a dollar; exact to the last of them. */
export function usd(microUsd: number): number {
  return microUsd / 1_000_000
}
