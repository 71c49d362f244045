import { EDGE_APPS_PATH, edgeApp } from '@offshoot/contract/edge-app'
import { isUuid } from '@offshoot/contract/ids'
import { labelBefore } from '@offshoot/contract/preview-address'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { hostOf, type VisitorRequest } from '../preview/visitor.ts'
import type { AppPlaces } from './app-places.ts'
import { askControl } from './ask-control.ts'

/** Questions to control at the same time: whoever is beyond is told what is known. */
const MAX_QUESTIONS = 32
/** Milliseconds until a visitor is served by what is known. */
const ANSWER_MS = 1_000

export interface LatestAppsOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly places: AppPlaces
  /** Of the edge's hosts. */
  readonly suffix: string
}

/**
 * Asks control anew about an app whose visitors may find something else at any moment: because another version is about to take
 * over, or none serves. What control has just said of a deployment holds at the app's address too, however late the news come.
 */
export class LatestApps {
  readonly #options: LatestAppsOptions
  #questions = 0

  constructor(options: LatestAppsOptions) {
    this.#options = options
  }

  /** Says whether there was something to ask. @param then is called when that is over, answered or not */
  ask(request: VisitorRequest, then: () => void): boolean {
    const id = this.#idOfUncertain(hostOf(request) ?? '')
    if (id === null || this.#questions >= MAX_QUESTIONS) return false
    void this.#refresh(id)
      .catch(() => undefined)
      .then(then)
    return true
  }

  /** Of an app that may be another now, or that nobody has told of; `null` for any other host. */
  #idOfUncertain(host: string): string | null {
    const { places, suffix } = this.#options
    const known = places.findHost(host, suffix)
    if (known === undefined) {
      const label = labelBefore(host, suffix) ?? ''
      return isUuid(label) ? label : null
    }
    return known.state === 'live' && !known.is_changing ? null : known.id
  }

  async #refresh(id: string): Promise<void> {
    const { controlUrl, credential, places } = this.#options
    const before = places.find(id)
    this.#questions += 1
    try {
      const answer = await askControl(`${controlUrl}${EDGE_APPS_PATH}/${id}`, credential, ANSWER_MS)
      const isGone = before !== undefined && places.find(id) === undefined
      if (answer === null) places.remove(id)
      else if (!isGone) places.set(edgeApp.parse(answer))
    } finally {
      this.#questions -= 1
    }
  }
}
