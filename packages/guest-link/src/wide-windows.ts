/** Windows of one link that may be wide at the same time: together they hold 6 MiB more than narrow ones would. */
const WIDE_MAX = 32

/** Which windows of a link are wide. The others do with what they started with: a bound on memory, whatever nobody reads. */
export class WideWindows {
  #left = WIDE_MAX

  /** False when there are as many as there may be. */
  take(): boolean {
    if (this.#left === 0) return false
    this.#left -= 1
    return true
  }

  give(): void {
    this.#left += 1
  }
}
