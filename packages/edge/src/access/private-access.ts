/**
 * Admits visitors to private previews (docs/adr/0038-private-previews.md): by a link's token, by a key of the workspace,
 * by the edge's own cookie, or by the session of a member, for which the browser goes over control.
 */
import { randomBytes } from 'node:crypto'
import {
  PREVIEW_ENTRY_PATH,
  PREVIEW_RETURN_PATH,
  type PreviewCheck,
  type PreviewSubject,
} from '@offshoot/contract/preview-access'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import { refusals } from '../http/refusal.ts'
import { REQUEST_ID, requestIdOf } from '../http/request-id.ts'
import { isHttp2, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'
import type { Admissions } from './admissions.ts'
import { passCookie, presentedCredentials, presentedState, stateCookie } from './presented-credentials.ts'

/** Seconds that a browser may take on its way over control. */
const STATE_SECONDS = 600
/** Longer addresses are not kept on the way over control: the browser comes back to the root. */
const MAX_KEPT_CHARS = 4_096

export interface PrivateVisit {
  readonly request: VisitorRequest
  readonly response: VisitorResponse
  readonly origin: string
  readonly subject: PreviewSubject
  /** As the visitor sent it. */
  readonly givenTarget: string
  /** The same without the edge's token. */
  readonly target: string
}

export class PrivateAccess {
  readonly #admissions: Admissions | null
  readonly #entryUrl: string | null

  /**
   * @param admissions `null`: the edge has no control, and admits nobody
   * @param publicUrl control's address for browsers; `undefined`: members cannot open previews by their session
   */
  constructor(admissions: Admissions | null, publicUrl: string | undefined) {
    this.#admissions = admissions
    this.#entryUrl = publicUrl === undefined ? null : `${publicUrl.replace(/\/$/, '')}${PREVIEW_ENTRY_PATH}`
  }

  /**
   * @returns the credential that admits the visitor; `null` if the visitor was answered by a redirect
   * @throws Refusal 401, 503
   */
  async admit(visit: PrivateVisit): Promise<PreviewCheck | null> {
    const { request, origin, subject, givenTarget } = visit
    if (this.#admissions === null) throw refusals.private()
    const isSecure = origin.startsWith('https:')
    const visitor = request.socket.remoteAddress ?? ''
    const isPage = isNavigation(request)
    if (isPage && givenTarget.startsWith(`${PREVIEW_RETURN_PATH}?`)) return this.#welcomeBack(this.#admissions, visit)
    const { tokens, inQuery, passes } = presentedCredentials(request, givenTarget, isSecure)
    if (isPage && inQuery !== null) {
      const given = await this.#admissions.pass({ origin, subject, token: inQuery }, visitor)
      if (given !== null) {
        redirect(visit, onThisHost(visit.target), passCookie(given.pass, given.max_age_seconds, isSecure))
        return null
      }
    }
    for (const credential of [...tokens, ...passes]) {
      const check = { origin, subject, credential }
      if (await this.#admissions.isAdmitted(check, visitor)) return check
    }
    if (!isPage || this.#entryUrl === null) throw refusals.private()
    this.#sendToControl(visit, this.#entryUrl)
    return null
  }

  /** Control looks at the session, whose cookie belongs to its own host, and sends the browser back with a code. */
  #sendToControl(visit: PrivateVisit, entryUrl: string): void {
    const { request, origin, target } = visit
    const isSecure = origin.startsWith('https:')
    // Several tabs of one browser share its state.
    const state = presentedState(request, isSecure) ?? randomBytes(32).toString('base64url')
    const path = target.length > MAX_KEPT_CHARS ? '/' : target
    const query = new URLSearchParams({ to: `${origin}${path}`, state })
    redirect(visit, `${entryUrl}?${query.toString()}`, stateCookie(state, STATE_SECONDS, isSecure))
  }

  /**
   * The browser comes back with a code. The state must be that of this browser: otherwise somebody else's way would end
   * here (login CSRF).
   */
  async #welcomeBack(admissions: Admissions, visit: PrivateVisit): Promise<null> {
    const { request, origin, subject, givenTarget } = visit
    const isSecure = origin.startsWith('https:')
    const query = new URLSearchParams(givenTarget.slice(PREVIEW_RETURN_PATH.length))
    const [code, state, to] = [query.get('code'), query.get('state'), query.get('to')]
    if (code === null || code === '' || state === null || state !== presentedState(request, isSecure)) {
      throw refusals.private()
    }
    const given = await admissions.pass({ origin, subject, code, state }, request.socket.remoteAddress ?? '')
    if (given === null) throw refusals.private()
    redirect(visit, onThisHost(to ?? '/'), passCookie(given.pass, given.max_age_seconds, isSecure))
    return null
  }
}

/** Whether a browser opens the address as a page, so that it may be sent elsewhere. */
function isNavigation(request: VisitorRequest): boolean {
  if (request.method !== 'GET' || (!isHttp2(request) && upgradeOf(request) !== undefined)) return false
  const mode = request.headers['sec-fetch-mode']
  if (mode !== undefined) return mode === 'navigate'
  return /text\/html/i.test(request.headers.accept ?? '')
}

/** A path on this host. Two slashes at the beginning would name another host. */
function onThisHost(target: string): string {
  if (!target.startsWith('/')) return '/'
  return /^\/[/\\]/.test(target) ? `/.${target}` : target
}

function redirect({ request, response }: PrivateVisit, location: string, cookie: string): void {
  response.writeHead(302, {
    location,
    'set-cookie': cookie,
    'content-length': 0,
    'cache-control': 'no-store',
    // The address that the browser leaves may contain a token.
    'referrer-policy': 'no-referrer',
    [REQUEST_ID]: requestIdOf(request),
  })
  response.end()
}
