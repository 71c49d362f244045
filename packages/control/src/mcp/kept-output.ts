/** The end of a text of any length: keeps the last characters, and counts the others. */
export class KeptOutput {
  readonly #maxChars: number
  #kept = ''
  #dropped = 0

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  add(chunk: string): void {
    const all = this.#kept + chunk
    const excess = Math.max(0, all.length - this.#maxChars)
    this.#dropped += excess
    this.#kept = all.slice(excess)
  }

  get length(): number {
    return this.#dropped + this.#kept.length
  }

  get dropped(): number {
    return this.#dropped
  }

  /** The last line that is not empty. */
  get lastLine(): string {
    return this.#kept.trimEnd().split('\n').at(-1)?.slice(-200) ?? ''
  }

  /** The last characters of the output, at most as many as are kept. */
  get end(): string {
    return this.#kept
  }
}
