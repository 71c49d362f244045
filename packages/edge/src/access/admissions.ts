import {
  MAX_PREVIEW_CHECKS,
  PREVIEW_CHECKS_PATH,
  PREVIEW_PASSES_PATH,
  previewAnswers,
  type PreviewCheck,
  previewPass,
  type PreviewPass,
  type PreviewPassBody,
} from '@offshoot/contract/preview-access'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'
import { refusals } from '../http/refusal.ts'

/** Milliseconds for which an answer of control is used. A revoked link may open new requests for that long. */
const FRESH_MS = 1_000
/** Milliseconds after which an answer in use is renewed while it is still used. */
const RENEW_MS = 500
/** Milliseconds for which an admission is used if control cannot be asked. After that, nobody is admitted. */
export const GRACE_MS = 15_000
/** Cached answers. Beyond that the oldest is dropped, and control is asked again. */
const MAX_KEPT = 20_000
/** Concurrent questions about credentials that were not admitted before: per visitor address, and in total. */
const MAX_ASKING_OF_VISITOR = 32
const MAX_ASKING = 128
const ANSWER_MS = 3_000

export interface AdmissionsOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
}

interface Known {
  readonly isAdmitted: boolean
  readonly askedAtMs: number
  /** When control could not be asked again for this one. */
  readonly failedAtMs?: number
}

/** Asks control whether a credential opens a private preview, and remembers the answers briefly. */
export class Admissions {
  readonly #options: AdmissionsOptions
  readonly #known = new Map<string, Known>()
  readonly #questions = new Map<string, Promise<boolean>>()
  readonly #asking = new FairLimit(MAX_ASKING_OF_VISITOR, MAX_ASKING)

  constructor(options: AdmissionsOptions) {
    this.#options = options
  }

  /**
   * @param visitor address of the visitor
   * @throws Refusal 503 if control cannot be asked
   */
  async isAdmitted(check: PreviewCheck, visitor: string): Promise<boolean> {
    const key = keyOf(check)
    const known = this.#known.get(key)
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.askedAtMs
    if (known !== undefined && ageMs < FRESH_MS) {
      if (ageMs >= RENEW_MS) this.#ask(key, check).catch(() => undefined)
      return known.isAdmitted
    }
    const isInGrace = known?.isAdmitted === true && ageMs < GRACE_MS
    // A control that hangs must not delay each request.
    if (isInGrace && performance.now() - (known.failedAtMs ?? Number.NEGATIVE_INFINITY) < FRESH_MS) return true
    // Visitors who guess must not delay those whom control has admitted.
    const done = known?.isAdmitted === true ? () => undefined : this.#asking.take(visitor)
    if (done === null) throw refusals.accessUnchecked()
    try {
      return await this.#ask(key, check)
    } catch {
      if (!isInGrace) throw refusals.accessUnchecked()
      this.#keep(key, { ...known, failedAtMs: performance.now() })
      return true
    } finally {
      done()
    }
  }

  /** Checks the credentials of open connections. An answer is `false` too if control could not be asked for too long. */
  async recheck(checks: readonly PreviewCheck[]): Promise<boolean[]> {
    const answers: boolean[] = []
    for (let at = 0; at < checks.length; at += MAX_PREVIEW_CHECKS) {
      const some = checks.slice(at, at + MAX_PREVIEW_CHECKS)
      answers.push(...(await this.#askAll(some).catch(() => some.map((check) => this.#isInGrace(check)))))
    }
    return answers
  }

  /** Exchanges a link's token or a member's code for the value of a cookie; `null` if it opens nothing here. */
  async pass(asked: PreviewPassBody, visitor: string): Promise<PreviewPass | null> {
    const done = this.#asking.take(visitor)
    if (done === null) throw refusals.accessUnchecked()
    const { controlUrl, credential } = this.#options
    try {
      const answer = await askControl(`${controlUrl}${PREVIEW_PASSES_PATH}`, credential, {
        body: asked,
        answerMs: ANSWER_MS,
      })
      return answer === null ? null : previewPass.parse(answer)
    } catch {
      throw refusals.accessUnchecked()
    } finally {
      done()
    }
  }

  /** Only one question at a time per credential. */
  #ask(key: string, check: PreviewCheck): Promise<boolean> {
    const asked = this.#questions.get(key)
    if (asked !== undefined) return asked
    const question = this.#askAll([check])
      .then(([isAdmitted = false]) => isAdmitted)
      .finally(() => this.#questions.delete(key))
    this.#questions.set(key, question)
    return question
  }

  async #askAll(checks: readonly PreviewCheck[]): Promise<boolean[]> {
    const { controlUrl, credential } = this.#options
    const askedAtMs = performance.now()
    const answer = await askControl(`${controlUrl}${PREVIEW_CHECKS_PATH}`, credential, {
      body: { checks },
      answerMs: ANSWER_MS,
    })
    const { admitted } = previewAnswers.parse(answer)
    for (const [at, check] of checks.entries()) {
      this.#keep(keyOf(check), { isAdmitted: admitted[at] === true, askedAtMs })
    }
    return admitted
  }

  #keep(key: string, known: Known): void {
    this.#known.delete(key)
    this.#known.set(key, known)
    if (this.#known.size > MAX_KEPT) this.#known.delete(this.#known.keys().next().value ?? key)
  }

  #isInGrace(check: PreviewCheck): boolean {
    const known = this.#known.get(keyOf(check))
    return known?.isAdmitted === true && performance.now() - known.askedAtMs < GRACE_MS
  }
}

export function keyOf({ origin, subject, credential }: PreviewCheck): string {
  const what = 'app_id' in subject ? subject.app_id : `${subject.sandbox_id}:${subject.port}`
  return `${origin} ${what} ${credential}`
}
