import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'
import { schemeOf, type VisitorRequest } from '../http/visitor.ts'
import { instanceToken } from './app-load.ts'

/** The edge's own cookie; no app sees it (`own-credentials.ts`). */
const COOKIE = 'offshoot-instance'
const VALUE = new RegExp(`(?:^|;)\\s*${COOKIE}=([0-9a-f]{16})\\s*(?:;|$)`)

/** Token of the instance that this visitor stays with; `null` for a new visitor, and for apps without stickiness. */
export function stickyToken({ is_sticky: isSticky }: EdgeApp, { headers }: VisitorRequest): string | null {
  return isSticky ? (VALUE.exec(headers.cookie ?? '')?.[1] ?? null) : null
}

/** Headers (names and values alternate) that keep a visitor on this instance. */
export function stickyHeaders(app: EdgeApp | null, sandboxId: SandboxId, request: VisitorRequest): string[] {
  if (app === null || !app.is_sticky || app.max_instances < 2) return []
  const token = instanceToken(sandboxId)
  if (stickyToken(app, request) === token) return []
  return [
    'set-cookie',
    `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax${schemeOf(request) === 'https' ? '; Secure' : ''}`,
  ]
}
