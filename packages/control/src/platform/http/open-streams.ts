/** The open streams of this process that do not end by themselves, each with the function that ends it. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()

  /** @returns a function to call once the stream has ended */
  add(end: () => void): () => void {
    this.#ends.add(end)
    return () => this.#ends.delete(end)
  }

  /** Called when the process stops. Clients reconnect and reach another process. */
  endAll(): void {
    for (const end of this.#ends) end()
  }
}
