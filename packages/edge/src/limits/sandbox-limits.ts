import type { SandboxId } from '@offshoot/contract/ids'
import { refusals } from '../http/refusal.ts'

/** Milliseconds after which an idle sandbox is dropped; its bucket is full again by then. */
const FORGET_MS = 10_000

interface Use {
  tokens: number
  countedAt: number
  underWay: number
}

/** Rate limit (a token bucket) and concurrency limit per sandbox, so that one busy preview cannot starve the others. */
export class SandboxLimits {
  readonly #perSecond: number
  readonly #concurrent: number
  readonly #uses = new Map<SandboxId, Use>()
  readonly #sweep: NodeJS.Timeout

  constructor({ perSecond, concurrent }: { readonly perSecond: number; readonly concurrent: number }) {
    this.#perSecond = perSecond
    this.#concurrent = concurrent
    this.#sweep = setInterval(() => this.#forgetIdle(), FORGET_MS).unref()
  }

  /** Begins a request. Call the returned function once, at its end. @throws Refusal 429 */
  begin(id: SandboxId): () => void {
    const now = performance.now()
    const burst = 2 * this.#perSecond
    const use = this.#uses.get(id) ?? { tokens: burst, countedAt: now, underWay: 0 }
    this.#uses.set(id, use)
    use.tokens = Math.min(burst, use.tokens + ((now - use.countedAt) / 1000) * this.#perSecond)
    use.countedAt = now
    if (use.tokens < 1) throw refusals.tooManyRequests()
    if (use.underWay >= this.#concurrent) throw refusals.tooManyConnections()
    use.tokens -= 1
    use.underWay += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      use.underWay -= 1
    }
  }

  stop(): void {
    clearInterval(this.#sweep)
  }

  #forgetIdle(): void {
    const now = performance.now()
    for (const [id, use] of this.#uses) if (use.underWay === 0 && now - use.countedAt > FORGET_MS) this.#uses.delete(id)
  }
}
