import type { Step } from './images/step.ts'
import type { StepListener } from './images/run-steps.ts'

/** Tells the user on standard output what is being done, how far along, and how long it took; skipped things are not mentioned. */
export class Progress implements StepListener {
  readonly #total: number
  readonly #write: (line: string) => void
  readonly #numbers = new Map<string, number>()

  /** @param total how many things there are to do at most */
  constructor(total: number, write: (line: string) => void = (line) => void process.stdout.write(`${line}\n`)) {
    this.#total = total
    this.#write = write
  }

  started(step: Step): void {
    this.#say(step.name, step.title)
  }

  reported(step: Step, what: string): void {
    this.#say(step.name, `${step.title}: ${what}`)
  }

  finished(step: Step, seconds: number): void {
    this.#say(step.name, `${step.title}: done in ${seconds.toFixed(1)} s`)
  }

  /** Says something of a piece of work that is no image step; the first word on it gives it its number. */
  #say(name: string, text: string): void {
    const number = this.#numbers.get(name) ?? this.#numbers.size + 1
    this.#numbers.set(name, number)
    this.#write(`[${number}/${this.#total}] ${text}`)
  }

  say(name: string, text: string): void {
    this.#say(name, text)
  }
}
