import type { Logger } from 'pino'

/** Milliseconds for which an app is not scaled after a failure. */
const HOLD_MS = 5_000

/**
 * Scales apps by the load that edges report, one operation at a time per app. Instances end by themselves when no edge
 * reports that they are needed.
 */
export class Scaler {
  readonly #log: Logger
  readonly #working = new Map<string, Promise<void>>()
  readonly #heldUntilMs = new Map<string, number>()
  #isStopped = false

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param scaleOut scales the app to the currently needed number of instances */
  note(appId: string, scaleOut: () => Promise<void>): void {
    const isHeld = (this.#heldUntilMs.get(appId) ?? 0) > performance.now()
    if (this.#isStopped || isHeld || this.#working.has(appId)) return
    this.#heldUntilMs.delete(appId)
    const work = scaleOut()
      .catch((error: unknown) => {
        this.#heldUntilMs.set(appId, performance.now() + HOLD_MS)
        this.#log.warn({ err: error, app: appId }, 'no further instance of an app')
      })
      .finally(() => this.#working.delete(appId))
    this.#working.set(appId, work)
  }

  /** Waits for running operations. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#working.values())
  }
}
