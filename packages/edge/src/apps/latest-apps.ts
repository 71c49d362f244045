import { EDGE_APPS_PATH, edgeApp } from '@offshoot/contract/edge-app'
import { isUuid } from '@offshoot/contract/ids'
import { labelBefore } from '@offshoot/contract/preview-address'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { hostOf, type VisitorRequest } from '../http/visitor.ts'
import type { AppLocations } from './app-locations.ts'
import { askControl } from './ask-control.ts'

/** Concurrent queries to control. Beyond them the known state is used. */
const MAX_QUESTIONS = 32
/** Milliseconds until a request falls back to the known state. */
const ANSWER_MS = 1_000

export interface LatestAppsOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly locations: AppLocations
  /** Suffix of the edge's hosts. */
  readonly suffix: string
}

/**
 * Asks control for the latest state of an app that is about to change: another version is taking over, or no version
 * serves. So once control's API reports a deployment as live, the app's address serves it, however late the event
 * arrives.
 */
export class LatestApps {
  readonly #options: LatestAppsOptions
  #questions = 0

  constructor(options: LatestAppsOptions) {
    this.#options = options
  }

  /** Returns whether there was a reason to ask. @param then called after the query, whether it succeeded or not */
  ask(request: VisitorRequest, then: () => void): boolean {
    const id = this.#idOfUncertain(hostOf(request) ?? '')
    if (id === null || this.#questions >= MAX_QUESTIONS) return false
    void this.#refresh(id)
      .catch(() => undefined)
      .then(then)
    return true
  }

  /** Id of an app that may be changing, or that is unknown; `null` for any other host. */
  #idOfUncertain(host: string): string | null {
    const { locations, suffix } = this.#options
    const known = locations.findHost(host, suffix)
    if (known === undefined) {
      const label = labelBefore(host, suffix) ?? ''
      return isUuid(label) ? label : null
    }
    return known.state === 'live' && !known.is_changing ? null : known.id
  }

  async #refresh(id: string): Promise<void> {
    const { controlUrl, credential, locations } = this.#options
    const before = locations.find(id)
    this.#questions += 1
    try {
      const answer = await askControl(`${controlUrl}${EDGE_APPS_PATH}/${id}`, credential, { answerMs: ANSWER_MS })
      const isGone = before !== undefined && locations.find(id) === undefined
      if (answer === null) locations.remove(id)
      else if (!isGone) locations.set(edgeApp.parse(answer))
    } finally {
      this.#questions -= 1
    }
  }
}
