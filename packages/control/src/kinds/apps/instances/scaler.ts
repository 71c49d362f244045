import type { Logger } from 'pino'

/** Milliseconds after a failure in which an app is left as it is. */
const HOLD_MS = 5_000

/** Acts on what edges tell, once at a time for each app. Instances end by themselves when nobody tells that they are needed. */
export class Scaler {
  readonly #log: Logger
  readonly #working = new Map<string, Promise<void>>()
  readonly #heldUntilMs = new Map<string, number>()
  #isStopped = false

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param scaleOut brings the app to as many instances as are needed just now */
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

  /** What is under way comes to its end. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#working.values())
  }
}
