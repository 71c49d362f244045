import { createHash, randomBytes } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import { PLANS } from '@offshoot/contract/plan'
import type { Queryable } from '../../platform/db/statement.ts'
import type { Actor } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockWorkspace } from './identity/api-key-statements.ts'
import type { Membership, UserCaller } from '../../platform/http/caller.ts'
import { accountOfWorkspace } from './identity/account-statements.ts'
import { insertInvitation, type InvitationRow, takenSeats } from './identity/invitation-statements.ts'
import { invitationMail } from './invitation-mail.ts'

export interface InvitationRequest {
  readonly org: Membership
  readonly user: UserCaller['user']
  readonly email: string
  readonly role: 'admin' | 'member'
}

/**
 * @throws ApiError 402 if the plan has no free seat, 404 if the workspace was deleted meanwhile, 409 if the address is
 * a member's
 */
export async function inviteMember(
  control: Pick<OrgsContext, 'database' | 'config' | 'outbox'>,
  actor: Actor,
  { org, user, email, role }: InvitationRequest,
): Promise<InvitationRow> {
  const token = randomBytes(24).toString('base64url')
  return transaction(control.database.pool, async (client) => {
    await refuseOverSeats(client, control, org, email)
    const [row] = await insertInvitation(client, org.id, email, role, hashInvitation(token), user.id)
    if (row === undefined) throw new Error('insert gave no row')
    const { public_url: publicUrl } = control.config
    await control.outbox.put(client, invitationMail({ email, token, inviter: user.name, org: org.name, publicUrl }))
    const event = { workspaceId: org.id, action: 'invitation.created', target: email, details: { role } } as const
    await recordAuditEvent(client, actor, event)
    return row
  })
}

/** Only the hash is stored. The token is random and long, so a slow hash would add nothing. */
export function hashInvitation(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Serializes invitations and joins of one workspace with a row lock, so that each counts the seats taken before it. */
export async function refuseOverSeats(
  client: Queryable,
  { config }: Pick<OrgsContext, 'config'>,
  { id }: Pick<Membership, 'id'>,
  email: string,
): Promise<void> {
  const [workspace] = await lockWorkspace(client, id)
  if (workspace === undefined) throw new ApiError('notFound')
  const [taken] = await takenSeats(client, id, email)
  if (taken?.is_member === true) throw new ApiError('alreadyMember')
  const { plan } = await accountOfWorkspace(client, id, config.limits.default_plan)
  const { seats } = PLANS[plan]
  if (seats === null || (taken?.seats ?? 0) < seats) return
  throw new ApiError('seatLimitReached', {
    error: `seat limit reached: your ${plan} plan allows ${seats} member(s). Upgrade to invite more.`,
  })
}
