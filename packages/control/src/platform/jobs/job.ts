/** Background work that runs until it is stopped. */
export interface Job {
  /** Makes the job start nothing new. */
  stop(): void
  /** Resolves when the running work has ended. */
  finished(): Promise<void>
}
