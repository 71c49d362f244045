import type { WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceRole } from '@offshoot/contract/role'
import { statement } from '../../../platform/db/statement.ts'

export const isFreshSession = statement<{ is_fresh: boolean }, [sessionId: string, seconds: number]>(
  'is-fresh-session',
  `select "createdAt" > now() - make_interval(secs => $2) as is_fresh from session where id = $1`,
)

export interface LeftWorkspaceRow {
  readonly id: WorkspaceId
  readonly name: string
  readonly role: WorkspaceRole
  readonly members: number
  readonly other_owners: number
  /** It holds objects, or the payment provider knows it. */
  readonly is_used: boolean
}

/**
 * Locks the workspaces of a user who leaves the service, so that changes of their members run one after the other. Two
 * owners could otherwise leave at once.
 */
export const lockWorkspacesOfUser = statement<{ id: WorkspaceId }, [userId: string]>(
  'lock-workspaces-of-user',
  `select o.id from organization o join member m on m."organizationId" = o.id
   where m."userId" = $1 and o.deletion_due_at is null order by o.id for no key update of o`,
)

export const workspacesLeft = statement<LeftWorkspaceRow, [userId: string]>(
  'workspaces-left',
  `select o.id, o.name, m.role,
     (select count(*) from member other where other."organizationId" = o.id) as members,
     (select count(*) from member other
      where other."organizationId" = o.id and other.role = 'owner' and other."userId" <> $1) as other_owners,
     exists (select from sandboxes where workspace_id = o.id) or exists (select from snapshots where workspace_id = o.id)
       or exists (select from volumes where workspace_id = o.id) or exists (select from databases where workspace_id = o.id)
       or exists (select from apps where workspace_id = o.id) or exists (select from templates where workspace_id = o.id)
       or exists (select from workspace_accounts where workspace_id = o.id and customer_id is not null) as is_used
   from organization o join member m on m."organizationId" = o.id
   where m."userId" = $1 and o.deletion_due_at is null order by o.id`,
)

/**
 * Removes addresses from the audit log: where the user acted from, and invitations that were sent to the user. The
 * user's id stays, so that the entries of one actor still belong together.
 */
export const forgetInAuditLog = statement<never, [userId: string, email: string]>(
  'forget-in-audit-log',
  `update audit_log set ip = case when actor_type = 'user' and actor_id = $1::text then null else ip end,
     target = case when target = $2 then null else target end
   where (actor_type = 'user' and actor_id = $1::text and ip is not null) or target = $2`,
)

/** Cascades to sessions, passwords, second factors, passkeys and memberships. */
export const removeUser = statement<{ id: string }, [userId: string, email: string]>(
  'remove-user',
  `with invited as (delete from invitations where email = $2),
     pending as (delete from verification where value = $1::text)
   delete from "user" where id = $1::uuid returning id`,
)
