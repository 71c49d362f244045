import type { StepListener } from './run-steps.ts'
import type { Step } from './step.ts'

/**
 * Prints each piece of work to standard output, with its number and its duration. Skipped pieces are not printed, but
 * they count, because numbers come from the complete list.
 */
export class Progress implements StepListener {
  readonly #names: readonly string[]
  readonly #write: (line: string) => void

  /** @param names all pieces of work, in order */
  constructor(
    names: readonly string[],
    write: (line: string) => void = (line) => void process.stdout.write(`${line}\n`),
  ) {
    this.#names = names
    this.#write = write
  }

  started(step: Step): void {
    this.say(step.name, step.title)
  }

  reported(step: Step, what: string): void {
    this.say(step.name, `${step.title}: ${what}`)
  }

  finished(step: Step, seconds: number): void {
    this.say(step.name, `${step.title}: done in ${seconds.toFixed(1)} s`)
  }

  /** For work that is not a step. */
  say(name: string, text: string): void {
    this.#write(`[${this.#names.indexOf(name) + 1}/${this.#names.length}] ${text}`)
  }
}
