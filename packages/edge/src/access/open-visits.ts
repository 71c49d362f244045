import type { PreviewCheck } from '@offshoot/contract/preview-access'
import { type Admissions, keyOf } from './admissions.ts'

/** Milliseconds between two checks of open connections to private previews. */
const CHECK_MS = 2_000

interface Visits {
  readonly check: PreviewCheck
  readonly ends: Set<() => void>
}

/**
 * The requests and WebSockets that are open to private previews. They are ended within some seconds after their link was
 * revoked or has expired, or their member has signed out.
 */
export class OpenVisits {
  readonly #admissions: Admissions
  readonly #open = new Map<string, Visits>()
  readonly #timer: NodeJS.Timeout
  #isChecking = false

  constructor(admissions: Admissions) {
    this.#admissions = admissions
    this.#timer = setInterval(() => void this.#checkAll(), CHECK_MS).unref()
  }

  /** @returns a function for the end of the visit */
  add(check: PreviewCheck, end: () => void): () => void {
    const key = keyOf(check)
    const visits = this.#open.get(key) ?? { check, ends: new Set() }
    this.#open.set(key, visits)
    visits.ends.add(end)
    return () => {
      visits.ends.delete(end)
      if (visits.ends.size === 0 && this.#open.get(key) === visits) this.#open.delete(key)
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #checkAll(): Promise<void> {
    if (this.#isChecking || this.#open.size === 0) return
    this.#isChecking = true
    const open = [...this.#open.values()]
    const answers = await this.#admissions.recheck(open.map(({ check }) => check))
    this.#isChecking = false
    for (const [at, { check, ends }] of open.entries()) {
      if (answers[at] === true) continue
      this.#open.delete(keyOf(check))
      for (const end of ends) end()
    }
  }
}
