import { createHash } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import {
  PREVIEW_CHECKS_PATH,
  PREVIEW_PASSES_PATH,
  type PreviewAnswers,
  previewChecks,
  type PreviewPass,
  previewPassBody,
  type PreviewPassBody,
} from '@offshoot/contract/preview-access'
import type { FastifyInstance } from 'fastify'
import { parseBody } from '../../../platform/http/body.ts'
import { admitEdge } from '../../../fleet/admit-edge.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { takeCode } from './access-statements.ts'
import { isAdmitted, isMember, linkOf } from './check-access.ts'

/** Seconds for which a member's pass is valid. The session and the membership are checked each time. */
const MEMBER_PASS_SECONDS = 8 * 3600

/** `POST /internal/previews/checks` and `…/passes`, for edges. Not part of the public API. */
export function edgeAccessRoutes(app: FastifyInstance, control: AppsContext): void {
  app.post(PREVIEW_CHECKS_PATH, async (request): Promise<PreviewAnswers> => {
    await admitEdge(control, request)
    const { checks } = parseBody(request, previewChecks)
    return { admitted: await Promise.all(checks.map((check) => isAdmitted(control, check))) }
  })
  app.post(PREVIEW_PASSES_PATH, async (request): Promise<PreviewPass> => {
    await admitEdge(control, request)
    const pass = await passFor(control, parseBody(request, previewPassBody))
    if (pass === null) throw new ApiError('notFound')
    return pass
  })
}

async function passFor(control: AppsContext, asked: PreviewPassBody): Promise<PreviewPass | null> {
  const { origin, subject } = asked
  const { previewPasses: passes } = control
  if ('token' in asked) {
    const link = await linkOf(control, subject, asked.token)
    if (link === undefined) return null
    const pass = await passes.sign(origin, { link: link.id }, link.expires_at)
    return { pass, max_age_seconds: Math.max(1, Math.floor((link.expires_at.getTime() - Date.now()) / 1000)) }
  }
  const hash = codeHash(asked.code)
  const [code] = await takeCode(control.database.pool, hash, origin, asked.state)
  if (code?.is_valid !== true) return null
  const { user_id: user, session_id: session } = code
  if (!(await isMember(control, subject, user, session))) return null
  const expiresAt = new Date(Date.now() + MEMBER_PASS_SECONDS * 1000)
  return { pass: await passes.sign(origin, { user, session }, expiresAt), max_age_seconds: MEMBER_PASS_SECONDS }
}

export function codeHash(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}
