import type { WorkspaceId } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type { WorkspaceRole } from '@offshoot/contract/role'
import { statement } from '../../../platform/db/statement.ts'

interface UserRow {
  readonly user_id: string
  readonly email: string
  readonly user_name: string
}

export interface MembershipRow extends UserRow {
  readonly workspace_id: WorkspaceId
  readonly slug: string
  readonly workspace_name: string
  readonly role: WorkspaceRole
  readonly is_suspended: boolean
  /** The user has selected it as the current workspace. `null`: the user has selected none. */
  readonly is_current: boolean | null
  /** `null` until the workspace is first used. */
  readonly plan: PlanName | null
}

/** The one row of a user without a workspace. */
export interface NoMembershipRow extends UserRow {
  readonly workspace_id: null
  readonly slug: null
  readonly workspace_name: null
  readonly role: null
  readonly is_suspended: boolean
  readonly is_current: null
  readonly plan: null
}

/**
 * Memberships, oldest first, without deleted workspaces. No row: the user does not exist, or the session has ended (by
 * a sign-out, a password reset, …), or a password reset has ended the tokens of this time that belong to no session.
 */
export const membershipsOfUser = statement<
  MembershipRow | NoMembershipRow,
  [userId: string, sessionId: string | null, issuedAtSeconds: number | null]
>(
  'memberships-of-user',
  `select u.id as user_id, u.email, u.name as user_name, o.id as workspace_id, o.slug, o.name as workspace_name, m.role,
     o.suspended_at is not null as is_suspended, o.id = u.current_workspace_id as is_current, a.plan
   from "user" u
   left join (member m join organization o on o.id = m."organizationId" and o.deletion_due_at is null)
     on m."userId" = u.id
   left join workspace_accounts a on a.workspace_id = o.id
   where u.id = $1 and case when $2::uuid is not null
       then exists (select from session s where s.id = $2 and s."userId" = u.id)
       else coalesce(to_timestamp($3::float8) > u.tokens_valid_from, true) end
   order by m."createdAt", m.id`,
)

/** No row: the user is not a member. */
export const chooseWorkspace = statement<{ id: string }, [userId: string, workspaceId: string]>(
  'choose-workspace',
  `update "user" set current_workspace_id = $2
   where id = $1 and exists (select from member where "userId" = $1 and "organizationId" = $2) returning id`,
)

/**
 * Two concurrent first requests of a user must create one workspace: the second waits for this lock and then finds it.
 */
export const lockUser = statement<{ id: string }, [userId: string]>(
  'lock-user',
  'select id from "user" where id = $1 for update',
)

export const insertWorkspace = statement<{ id: WorkspaceId }, [name: string, slug: string]>(
  'insert-workspace',
  'insert into organization (name, slug, "createdAt") values ($1, $2, now()) returning id',
)

export const insertMember = statement<{ id: string }, [workspaceId: string, userId: string, role: WorkspaceRole]>(
  'insert-member',
  `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, $3, now()) returning id`,
)

export const userByEmail = statement<{ id: string }, [email: string]>(
  'user-by-email',
  'select id from "user" where email = $1',
)

/**
 * Ends what a password reset ends besides sessions: tokens without a session, and the records that the accounts library
 * keeps under the user's id (other reset links, unfinished second steps, trusted devices).
 */
export const endTokens = statement<never, [userId: string]>(
  'end-tokens',
  `with ended as (delete from verification where value = $1::text),
     links as (delete from sign_in_links where user_id = $1::uuid)
   update "user" set tokens_valid_from = now() where id = $1::uuid`,
)

/**
 * The public keys for verifying tokens. A rotation expires a key at once, and its tokens live on for up to a day. The id of the row is the token's `kid`.
 */
export const signingKeys = statement<{ id: string; publicKey: string; alg: string | null }, []>(
  'signing-keys',
  `select id, "publicKey", alg from jwks
   where "expiresAt" is null or "expiresAt" > now() - interval '25 hours'`,
)
