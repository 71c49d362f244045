/** Seconds in the month that prices are given for: 30 days. */
export const PRICE_MONTH_SECONDS = 30 * 24 * 3600

/**
 * What usage costs, in micro-dollars (10^-6 USD) for {@link PRICE_MONTH_SECONDS}, so that every price is an integer. A
 * metered interval keeps the price it began at: a change here bills nothing anew.
 */
export const PRICES = {
  /** One vCPU while its sandbox runs: 0.000014 USD a second. */
  cpu: 36_288_000,
  /** One GiB of memory while its sandbox runs or is paused: 0.0000045 USD a second. */
  memoryGib: 11_664_000,
  /** One GiB of memory that lies on disk while its sandbox is hibernated. */
  hibernatedGib: 150_000,
  /** One provisioned GiB of volumes above what the plan includes (the specification's 0.15 USD). */
  volumeGib: 150_000,
} as const
