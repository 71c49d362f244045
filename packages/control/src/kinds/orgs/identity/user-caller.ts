import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type pg from 'pg'
import type { Membership, UserCaller } from '../../../platform/http/caller.ts'
import type { JwtClaims } from './jwt-verifier.ts'
import { type MembershipRow, membershipsOfUser } from './membership-statements.ts'
import { makePersonalWorkspace } from './personal-workspace.ts'

/**
 * The caller behind a verified token. Acts in the workspace that header `X-Offshoot-Org` names, else in the one that the user
 * has chosen, else in the token's, else in the oldest membership; a user without any gets a personal one.
 *
 * Asked of the database with each request: a choice, a suspension or a lost membership is in force at once, in every process.
 *
 * @throws ApiError 401 when the user or the token's session is gone; 404 when the header names a workspace the user is not in
 */
export async function userCaller(
  pool: pg.Pool,
  claims: JwtClaims,
  header: string | undefined,
  defaultPlan: PlanName,
): Promise<UserCaller> {
  const { userId, sessionId } = claims
  const areIds = isUuid(userId) && (sessionId === null || isUuid(sessionId))
  let rows = areIds ? await membershipsOfUser(pool, userId, sessionId) : []
  const [user] = rows
  if (user === undefined) throw new ApiError('invalidApiToken')
  if (user.workspace_id === null) {
    await makePersonalWorkspace(pool, user.user_id, user.user_name)
    rows = await membershipsOfUser(pool, user.user_id, sessionId)
  }
  const workspaces = rows.flatMap((row) => membership(row, defaultPlan))
  const chosen = rows.find((row) => row.is_current)?.workspace_id ?? claims.workspaceId
  const current = choose(workspaces, chosen, header)
  if (current === undefined) throw new ApiError('notFound')
  return {
    method: 'jwt',
    workspaceId: current.id,
    role: current.role,
    isSuspended: current.isSuspended,
    user: { id: user.user_id, email: user.email, name: user.user_name },
    workspaces,
  }
}

function choose(workspaces: readonly Membership[], chosen: string | null, header: string | undefined) {
  if (header !== undefined) return workspaces.find(({ id }) => id === header)
  return workspaces.find(({ id }) => id === chosen) ?? workspaces[0]
}

function membership(row: MembershipRow, defaultPlan: PlanName): Membership[] {
  if (row.workspace_id === null) return []
  const { slug, workspace_name: name, role, plan, is_suspended: isSuspended } = row
  return [{ id: row.workspace_id, slug, name, role, plan: plan ?? defaultPlan, isSuspended }]
}
