/** Work that runs in the background until it is stopped. */
export interface Job {
  /** Starts nothing new. */
  stop(): void
  /** Resolves when what was running has ended. */
  finished(): Promise<void>
}
