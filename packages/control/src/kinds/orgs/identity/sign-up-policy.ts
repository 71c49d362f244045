import type { ControlConfig } from '@offshoot/contract/process-config'
import { APIError } from 'better-auth/api'
import type pg from 'pg'
import { openInvitation } from './invitation-statements.ts'

/** Refuses a sign-up that the policy forbids. Bootstrap creates its own account under `open`. @throws APIError 403 */
export async function refuseSignUp(pool: pg.Pool, policy: ControlConfig['sign_up'], email: string): Promise<void> {
  if (policy === 'open') return
  if (policy === 'invitation') {
    const [invitation] = await openInvitation(pool, email.toLowerCase())
    if (invitation !== undefined) return
  }
  const message = policy === 'closed' ? 'Sign-up is closed' : 'Sign-up takes an invitation'
  throw new APIError('FORBIDDEN', { message })
}
