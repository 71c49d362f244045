import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceRole } from '@offshoot/contract/role'
import type pg from 'pg'
import type { Actor } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockWorkspace, revokeTokensOfMember } from './identity/api-key-statements.ts'
import { changeRole, type MemberRow, membersOfOrg, removeMember } from './identity/org-statements.ts'

/** @throws ApiError 404 if the user is no member, 409 if no owner would be left */
export async function changeMemberRole(
  pool: pg.Pool,
  actor: Actor,
  workspaceId: string,
  userId: string,
  role: WorkspaceRole,
): Promise<MemberRow> {
  return transaction(pool, async (client) => {
    const { found, owners } = await findMember(client, workspaceId, userId)
    if (found.role === 'owner' && role !== 'owner' && owners === 1) throw new ApiError('lastOwner')
    await changeRole(client, workspaceId, userId, role)
    const details = { from: found.role, to: role }
    await recordAuditEvent(client, actor, { workspaceId, action: 'member.role_changed', target: userId, details })
    return { ...found, role }
  })
}

/**
 * Removes a member, and revokes the keys that the member created for the workspace.
 *
 * @throws ApiError 403 if the caller may not remove an owner, 404 if the user is no member, 409 if no owner would be
 * left
 */
export async function endMembership(
  pool: pg.Pool,
  actor: Actor,
  workspaceId: string,
  userId: string,
  mayRemoveOwners: boolean,
): Promise<void> {
  await transaction(pool, async (client) => {
    const { found, owners } = await findMember(client, workspaceId, userId)
    if (found.role === 'owner' && !mayRemoveOwners)
      throw new ApiError('roleMissing', { detail: 'takes the role owner' })
    if (found.role === 'owner' && owners === 1) throw new ApiError('lastOwner')
    await removeMember(client, workspaceId, userId)
    const revoked = await revokeTokensOfMember(client, workspaceId, userId)
    const details = { role: found.role, tokens_revoked: revoked.map(({ prefix }) => prefix) }
    await recordAuditEvent(client, actor, { workspaceId, action: 'member.removed', target: userId, details })
  })
}

/**
 * Locks the workspace, so that changes of its members run one after the other. Otherwise two owners could remove each
 * other.
 */
async function findMember(client: pg.PoolClient, workspaceId: string, userId: string) {
  const [workspace] = await lockWorkspace(client, workspaceId)
  const members = workspace === undefined ? [] : await membersOfOrg(client, workspaceId)
  const found = members.find((each) => each.user_id === userId)
  if (found === undefined) throw new ApiError('notFound')
  return { found, owners: members.filter(({ role }) => role === 'owner').length }
}
