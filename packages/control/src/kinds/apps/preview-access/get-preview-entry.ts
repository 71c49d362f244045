import { randomBytes } from 'node:crypto'
import { isUuid } from '@offshoot/contract/ids'
import { PREVIEW_ENTRY_PATH, PREVIEW_RETURN_PATH, type PreviewSubject } from '@offshoot/contract/preview-access'
import { labelBefore, nameOfHost, parsePreviewHost, visiblePort } from '@offshoot/contract/preview-address'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { appOfAddress, insertCode } from './access-statements.ts'
import { isMember } from './check-access.ts'
import { codeHash } from './edge-access-routes.ts'
import { answerPage } from './enter-page.ts'

/** Seconds until the browser must have come back to the preview. */
const CODE_SECONDS = 60
const MAX_ADDRESS_CHARS = 8_192
const STATE = /^[A-Za-z0-9_-]{43}$/

const BAD_ADDRESS = {
  status: 400,
  error: 'this is no address of a preview',
  detail: 'Open the address of the preview itself; it leads here when it needs to.',
}
const NO_SESSION = {
  status: 401,
  error: 'this preview is private',
  detail:
    'Sign in to this service as a member of the workspace in this browser, then open the preview again. Or ask a member for a link.',
}
const OPENING = {
  status: 401,
  error: 'opening the preview',
  detail: 'This page looks whether you are signed in to this service in this browser.',
}
const NO_MEMBER = {
  status: 403,
  error: 'you may not open this preview',
  detail: 'The account that is signed in is not a member of its workspace. Ask a member for a link.',
}
const TOO_MANY = {
  status: 429,
  error: 'too many previews opened at the same time',
  detail: 'Wait a minute, then load the preview again.',
}

/**
 * `GET /previews/enter?to=&state=[&again=1]`: a browser comes here from a private preview, because the session's cookie belongs to
 * this host only. A member is sent back with a code that is valid once, for a minute, for that origin and that browser.
 */
export function getPreviewEntry(app: FastifyInstance, control: AppsContext): void {
  app.get(PREVIEW_ENTRY_PATH, async (request, reply) => {
    const { to, state, again } = request.query as { readonly [name in 'to' | 'state' | 'again']?: unknown }
    const address = addressOf(to)
    if (address === null || typeof state !== 'string' || !STATE.test(state)) {
      return answerPage(request, reply, BAD_ADDRESS)
    }
    const subject = await subjectAt(control, address)
    if (subject === null) return answerPage(request, reply, BAD_ADDRESS)
    const found = await control.accounts.api.getSession({ headers: headersOf(request) })
    // A browser sends the session's cookie only to this site's own pages (SameSite), and comes from the preview's. So this
    // page opens itself once more.
    if (found === null && again === undefined) {
      const next = new URLSearchParams({ to: address.href, state, again: '1' })
      return answerPage(request, reply, { ...OPENING, next: `${PREVIEW_ENTRY_PATH}?${next.toString()}` })
    }
    if (found === null) return answerPage(request, reply, NO_SESSION)
    const { id: sessionId, userId } = found.session
    if (!(await isMember(control, subject, userId, sessionId))) return answerPage(request, reply, NO_MEMBER)
    const code = randomBytes(32).toString('base64url')
    const { pool } = control.database
    const [kept] = await insertCode(pool, codeHash(code), userId, sessionId, address.origin, state, CODE_SECONDS)
    if (kept === undefined) return answerPage(request, reply, TOO_MANY)
    return sendBack(reply, address, code, state)
  })
}

/** Sends the browser only to the origin that was looked up, whatever the path is. */
function sendBack(reply: FastifyReply, { origin, pathname, search }: URL, code: string, state: string): FastifyReply {
  const query = new URLSearchParams({ code, state, to: `${pathname}${search}` })
  return reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .redirect(`${origin}${PREVIEW_RETURN_PATH}?${query.toString()}`, 302)
}

function addressOf(text: unknown): URL | null {
  if (typeof text !== 'string' || text.length > MAX_ADDRESS_CHARS || !URL.canParse(text)) return null
  const address = new URL(text)
  const isPlain = address.username === '' && address.password === '' && /^https?:$/.test(address.protocol)
  return isPlain ? address : null
}

/** The sandbox's port or the app at an address; `null` for an address that is not the edge's. */
async function subjectAt({ config, database }: AppsContext, { host }: URL): Promise<PreviewSubject | null> {
  const name = nameOfHost(host)
  // Another port of the same name may be another server.
  if (host !== `${name}${visiblePort(config.preview)}`) return null
  const { suffix } = config.preview
  const preview = parsePreviewHost(name, suffix)
  if (preview !== null) return { sandbox_id: preview.sandboxId, port: preview.port }
  const label = labelBefore(name, suffix)
  const [app] = await appOfAddress(database.pool, label, label === null ? name : null)
  return app !== undefined && isUuid(app.id) ? { app_id: app.id } : null
}

/** The library reads the session from the cookie. A bearer token would not prove which browser asks. */
function headersOf({ headers }: FastifyRequest): Headers {
  return new Headers({ cookie: headers.cookie ?? '' })
}
