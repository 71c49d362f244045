import { EDGE_APPS_PATH, edgeApp } from '@offshoot/contract/edge-app'
import { isUuid } from '@offshoot/contract/ids'
import { labelBefore, nameOfHost } from '@offshoot/contract/preview-address'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { hostOf, type VisitorRequest } from '../preview/visitor.ts'
import type { AppPlaces } from './app-places.ts'
import { askControl } from './ask-control.ts'

/** Questions to control at the same time: whoever is beyond is told what is known. */
const MAX_QUESTIONS = 32

export interface LatestAppsOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly places: AppPlaces
  /** Of the edge's hosts. */
  readonly suffix: string
}

/**
 * Asks control anew about an app before a visitor is told that no version of it serves: what control has just said of the app
 * (it is there, its first version is live, its build has failed) holds at its address too, however late the news of it come.
 */
export class LatestApps {
  readonly #options: LatestAppsOptions
  #questions = 0

  constructor(options: LatestAppsOptions) {
    this.#options = options
  }

  /** Says whether there was something to ask. @param then is called when that is over, answered or not */
  ask(request: VisitorRequest, then: () => void): boolean {
    const id = this.#idOfUnserved(hostOf(request) ?? '')
    if (id === null || this.#questions >= MAX_QUESTIONS) return false
    void this.#refresh(id)
      .catch(() => undefined)
      .then(then)
    return true
  }

  /** Of an app that nothing serves, or nobody has told of; `null` for any other host. */
  #idOfUnserved(host: string): string | null {
    const { places, suffix } = this.#options
    const label = labelBefore(host, suffix) ?? ''
    const known = places.find(label) ?? places.findDomain(nameOfHost(host))
    if (known === undefined) return isUuid(label) ? label : null
    return known.state === 'live' ? null : known.id
  }

  async #refresh(id: string): Promise<void> {
    const { controlUrl, credential, places } = this.#options
    const before = places.find(id)
    this.#questions += 1
    try {
      const answer = await askControl(`${controlUrl}${EDGE_APPS_PATH}/${id}`, credential)
      // What control told meanwhile by itself may be newer.
      if (places.find(id) !== before) return
      if (answer === null) places.remove(id)
      else places.set(edgeApp.parse(answer))
    } finally {
      this.#questions -= 1
    }
  }
}
