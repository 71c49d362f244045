import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type pg from 'pg'
import type { Membership, UserCaller } from '../../../platform/http/caller.ts'
import type { JwtClaims } from './jwt-verifier.ts'
import { type MembershipRow, membershipsOfUser, type NoMembershipRow } from './membership-statements.ts'
import { makePersonalWorkspace } from './personal-workspace.ts'

/**
 * The caller of a verified token. The current workspace is the one in the header `X-Offshoot-Org`, else the user's
 * selection, else the token's workspace, else the oldest membership. A user without any membership gets a personal
 * workspace.
 *
 * Control reads the database with each request, so that a new selection, a suspension or a lost membership takes effect
 * at once in every process.
 *
 * @throws ApiError 401 if the user or the token's session is gone, or the user has left the token's only workspace; 404 if the header names a workspace that the user is
 * not in
 */
export async function userCaller(
  pool: pg.Pool,
  claims: JwtClaims,
  header: string | undefined,
  defaultPlan: PlanName,
): Promise<UserCaller> {
  const { userId, sessionId, issuedAt, scopes, onlyWorkspaceId, expiresAt, provenAt } = claims
  const areIds = isUuid(userId) && (sessionId === null || isUuid(sessionId))
  let rows = areIds ? await membershipsOfUser(pool, userId, sessionId, issuedAt) : []
  const [user] = rows
  if (user === undefined) throw new ApiError('invalidApiToken')
  if (onlyWorkspaceId !== null) {
    rows = rows.filter((row) => row.workspace_id === onlyWorkspaceId)
    if (rows.length === 0) throw new ApiError('invalidApiToken')
  } else if (user.workspace_id === null) {
    await makePersonalWorkspace(pool, user.user_id, user.user_name)
    rows = await membershipsOfUser(pool, user.user_id, sessionId, issuedAt)
  }
  const workspaces = rows.flatMap((row) => membership(row, defaultPlan))
  const chosen = rows.find((row) => row.is_current === true)?.workspace_id ?? claims.workspaceId
  const current = choose(workspaces, chosen, header)
  if (current === undefined) throw new ApiError('notFound')
  return {
    method: 'jwt',
    workspaceId: current.id,
    role: current.role,
    isSuspended: current.isSuspended,
    user: { id: user.user_id, email: user.email, name: user.user_name },
    workspaces,
    scopes,
    token: { isNarrowed: scopes !== null || onlyWorkspaceId !== null, sessionId, expiresAt, provenAt },
  }
}

function choose(workspaces: readonly Membership[], chosen: string | null, header: string | undefined) {
  if (header !== undefined) return workspaces.find(({ id }) => id === header)
  return workspaces.find(({ id }) => id === chosen) ?? workspaces[0]
}

function membership(row: MembershipRow | NoMembershipRow, defaultPlan: PlanName): Membership[] {
  if (row.workspace_id === null) return []
  const { slug, workspace_name: name, role, plan, is_suspended: isSuspended } = row
  return [{ id: row.workspace_id, slug, name, role, plan: plan ?? defaultPlan, isSuspended }]
}
