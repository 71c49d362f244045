import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Caller } from './caller.ts'
import type { JwtClaims } from './jwt-verifier.ts'
import { type MembershipRow, membershipsOfUser } from './membership-statements.ts'
import { makePersonalWorkspace } from './personal-workspace.ts'

/** The plan of every workspace until plans exist. */
const PLAN = 'free'

type UserCaller = Extract<Caller, { method: 'jwt' }>

/**
 * The caller behind a verified token. Acts in the workspace that header `X-Offshoot-Org` names, else in the token's, else
 * in the oldest membership; a user without any gets a personal one.
 *
 * @throws ApiError 401 when the user is gone; 404 when the header names a workspace the user is not in
 */
export async function userCaller(pool: pg.Pool, claims: JwtClaims, header: string | undefined): Promise<UserCaller> {
  let rows = isUuid(claims.userId) ? await membershipsOfUser(pool, claims.userId) : []
  const [user] = rows
  if (user === undefined) throw new ApiError('invalidApiToken')
  if (user.workspace_id === null) {
    await makePersonalWorkspace(pool, user.user_id, user.user_name)
    rows = await membershipsOfUser(pool, user.user_id)
  }
  const workspaces = rows.flatMap(summary)
  const current = choose(workspaces, claims, header)
  if (current === undefined) throw new ApiError('notFound')
  return {
    method: 'jwt',
    workspaceId: current.id,
    user: { id: user.user_id, email: user.email, name: user.user_name },
    workspaces,
  }
}

function choose(workspaces: UserCaller['workspaces'], claims: JwtClaims, header: string | undefined) {
  if (header !== undefined) return workspaces.find(({ id }) => id === header)
  return workspaces.find(({ id }) => id === claims.workspaceId) ?? workspaces[0]
}

function summary(row: MembershipRow): UserCaller['workspaces'][number][] {
  if (row.workspace_id === null) return []
  return [{ id: row.workspace_id, slug: row.slug, name: row.workspace_name, role: row.role, plan: PLAN }]
}
