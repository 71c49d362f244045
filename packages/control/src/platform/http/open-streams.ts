/** The streams of this process that nothing ends by itself, each with the way to end it. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()

  /** @returns what to call once the stream is over */
  add(end: () => void): () => void {
    this.#ends.add(end)
    return () => this.#ends.delete(end)
  }

  /** For a process that is to end: who reads them connects again, to another. */
  endAll(): void {
    for (const end of this.#ends) end()
  }
}
