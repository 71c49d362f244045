import type { Cli } from '../frame/cli.ts'
import { bytes, printable } from '../frame/output.ts'
import { Progress } from '../frame/progress.ts'

/** What a copy has done, shown while it runs. */
export class Tally {
  files = 0
  bytes = 0
  /** Paths that were left out, each with the reason. */
  readonly leftOut: string[] = []
  readonly #progress: Progress

  constructor(cli: Cli) {
    this.#progress = new Progress(cli, 'copying')
  }

  get text(): string {
    return `${this.files} ${this.files === 1 ? 'file' : 'files'}, ${bytes(this.bytes)}`
  }

  add(count: number): void {
    this.bytes += count
    this.#progress.say(`copying: ${this.text}`)
  }

  leaveOut(path: string, reason: string): void {
    this.leftOut.push(`${printable(path)} ${reason}`)
  }

  [Symbol.dispose](): void {
    this.#progress[Symbol.dispose]()
  }
}
