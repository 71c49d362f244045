import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'
import { schemeOf, type VisitorRequest } from '../preview/visitor.ts'
import { instanceToken } from './app-load.ts'

/** Ours: no app sees it (`own-credentials.ts`). */
const COOKIE = 'offshoot-instance'
const VALUE = new RegExp(`(?:^|;)\\s*${COOKIE}=([0-9a-f]{16})\\s*(?:;|$)`)

/** Token of the instance that a visitor of this app is to stay with; `null` for whoever has none, and where the app does not want it. */
export function stickyToken({ is_sticky: isSticky }: EdgeApp, { headers }: VisitorRequest): string | null {
  return isSticky ? (VALUE.exec(headers.cookie ?? '')?.[1] ?? null) : null
}

/** Headers, names and values alternating, that make a visitor stay with this instance. */
export function stickyHeaders(app: EdgeApp | null, sandboxId: SandboxId, request: VisitorRequest): string[] {
  if (app === null || !app.is_sticky || app.max_instances < 2) return []
  const token = instanceToken(sandboxId)
  if (stickyToken(app, request) === token) return []
  return [
    'set-cookie',
    `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax${schemeOf(request) === 'https' ? '; Secure' : ''}`,
  ]
}
