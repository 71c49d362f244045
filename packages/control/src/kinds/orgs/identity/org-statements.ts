import type { WorkspaceId } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type { WorkspaceRole } from '@offshoot/contract/role'
import { statement } from '../../../platform/db/statement.ts'

export interface OrgDetails {
  readonly created_at: Date
  readonly members: number
  readonly suspended: boolean
}

export const orgDetails = statement<OrgDetails, [workspaceId: string]>(
  'org-details',
  `select "createdAt" as created_at, suspended_at is not null as suspended,
     (select count(*) from member where "organizationId" = o.id) as members
   from organization o where id = $1`,
)

/** The workspace of a sandbox. The caller must have proved that it may use the sandbox. */
export const ownerOfSandbox = statement<{ workspace_id: WorkspaceId; is_suspended: boolean }, [sandboxId: string]>(
  'owner-of-sandbox',
  `select s.workspace_id, o.suspended_at is not null as is_suspended from sandboxes s
   join organization o on o.id = s.workspace_id and o.deletion_due_at is null where s.id = $1`,
)

/** Returns no row if the slug is taken. */
export const insertOrg = statement<{ id: WorkspaceId }, [name: string, slug: string]>(
  'insert-org',
  `insert into organization (name, slug, "createdAt") values ($1, $2, date_trunc('milliseconds', now()))
   on conflict (slug) do nothing returning id`,
)

/** The plan of each workspace that the user owns; `null` if the workspace has no account yet. */
export const ownedPlans = statement<{ plan: PlanName | null }, [userId: string]>(
  'owned-plans',
  `select a.plan from member m
   join organization o on o.id = m."organizationId" and o.deletion_due_at is null
   left join workspace_accounts a on a.workspace_id = o.id
   where m."userId" = $1 and m.role = 'owner'`,
)

export const changeOrg = statement<
  { name: string; slug: string },
  [workspaceId: string, name: string | null, slug: string | null]
>(
  'change-org',
  `update organization set name = coalesce($2, name), slug = coalesce($3, slug)
   where id = $1 and deletion_due_at is null returning name, slug`,
)

/** Hides the workspace from all users and frees its slug. No row: it was deleted before. */
export const markOrgDeleted = statement<{ name: string; slug: string }, [workspaceId: string]>(
  'mark-org-deleted',
  `with marked as (
     update organization o set deletion_due_at = now(), slug = 'deleted-' || o.id
     from (select id, slug from organization where id = $1 for update) old
     where o.id = old.id and o.deletion_due_at is null returning o.name, old.slug
   )
   select name, slug from marked`,
)

/** Revokes the workspace's keys and its open invitations. */
export const closeOrg = statement<never, [workspaceId: string]>(
  'close-org',
  `with keys as (update api_keys set revoked_at = now() where workspace_id = $1 and revoked_at is null)
   delete from invitations where workspace_id = $1`,
)

export interface MemberRow {
  readonly user_id: string
  readonly email: string
  readonly name: string
  readonly role: WorkspaceRole
  readonly joined_at: Date
}

/** Selects {@link MemberRow}s, without conditions. */
export const SELECT_MEMBERS = `select u.id as user_id, u.email, u.name, m.role, m."createdAt" as joined_at
   from member m join "user" u on u.id = m."userId"`

export const membersOfOrg = statement<MemberRow, [workspaceId: string]>(
  'members-of-org',
  `${SELECT_MEMBERS} where m."organizationId" = $1`,
)

export const changeRole = statement<never, [workspaceId: string, userId: string, role: WorkspaceRole]>(
  'change-role',
  `update member set role = $3 where "organizationId" = $1 and "userId" = $2`,
)

export const removeMember = statement<{ role: WorkspaceRole }, [workspaceId: string, userId: string]>(
  'remove-member',
  `delete from member where "organizationId" = $1 and "userId" = $2 returning role`,
)

/** The workspace's name in host names. */
export const workspaceSlug = statement<{ slug: string }, [workspaceId: string]>(
  'workspace-slug',
  'select slug from organization where id = $1 and deletion_due_at is null',
)
