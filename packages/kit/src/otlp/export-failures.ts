/** Milliseconds between two log lines about failed exports. */
const REPORT_EVERY_MS = 60_000
const MAX_REASON_CHARS = 200

/** Says in the log that exports fail, at most once a minute. */
export class ExportFailures {
  #log: { warn(fields: object, message: string): void } | undefined
  #count = 0
  #reportedMs = -Infinity

  reportTo(log: { warn(fields: object, message: string): void }): void {
    this.#log = log
  }

  add(error: unknown): void {
    this.#count += 1
    const nowMs = performance.now()
    if (this.#log === undefined || nowMs - this.#reportedMs < REPORT_EVERY_MS) return
    this.#reportedMs = nowMs
    const failures = this.#count
    this.#count = 0
    this.#log.warn({ reason: reasonOf(error), failures }, 'telemetry cannot be exported')
  }
}

/** Not the whole error, which contains the receiver's answer. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as NodeJS.ErrnoException
  const cause = error.cause === undefined ? '' : `: ${reasonOf(error.cause)}`
  return `${error.message || code || error.name}${cause}`.slice(0, MAX_REASON_CHARS)
}
