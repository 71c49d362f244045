/** Seconds of the billing month that prices refer to: 30 days. */
export const PRICE_MONTH_SECONDS = 30 * 24 * 3600

/**
 * Prices in micro-dollars (10^-6 USD) per {@link PRICE_MONTH_SECONDS}, so that all are integers. A metered interval
 * keeps the price at which it began; a change here does not rebill it.
 */
export const PRICES = {
  /** One vCPU of a running sandbox: 0.000014 USD per second. */
  cpu: 36_288_000,
  /** One GiB of memory of a running or paused sandbox: 0.0000045 USD per second. */
  memoryGib: 11_664_000,
  /** One GiB of memory on disk, of a hibernated sandbox. */
  hibernatedGib: 150_000,
  /** One provisioned GiB of volumes beyond the plan's included storage (the specification's 0.15 USD). */
  volumeGib: 150_000,
} as const
