import type { HostLabels } from '@offshoot/contract/host-label'
import { isUuid, type WorkspaceId } from '@offshoot/contract/ids'
import type { OperatedOrg } from '@offshoot/contract/operator'
import type { PlanName } from '@offshoot/contract/plan'
import { type Queryable, statement } from '../../../platform/db/statement.ts'

export interface OperatedOrgRow {
  readonly id: WorkspaceId
  readonly slug: string
  readonly name: string
  readonly plan: PlanName | null
  readonly suspended: boolean
  readonly owners: string[]
  readonly required_labels: HostLabels
  readonly required_zone: string | null
  readonly created_at: Date
}

/** Selects {@link OperatedOrgRow}s as `orgs`, without conditions. */
export const SELECT_ORGS = `select * from (
  select o.id, o.slug, o.name, a.plan, o.suspended_at is not null as suspended,
    coalesce(a.required_labels, '{}') as required_labels, a.required_zone,
    date_trunc('milliseconds', o."createdAt") as created_at,
    array(select u.email from member m join "user" u on u.id = m."userId"
          where m."organizationId" = o.id and m.role = 'owner' order by m."createdAt") as owners
  from organization o left join workspace_accounts a on a.workspace_id = o.id
  where o.deletion_due_at is null) orgs`

export const orgById = statement<OperatedOrgRow, [id: string]>('operated-org', `${SELECT_ORGS} where id = $1`)

export async function findOrg(on: Queryable, id: string): Promise<OperatedOrgRow | undefined> {
  return isUuid(id) ? (await orgById(on, id))[0] : undefined
}

/**
 * @param on whether to suspend the workspace's compute. No row: the workspace does not exist, or had that state before
 */
export const setSuspended = statement<{ id: string }, [id: string, on: boolean]>(
  'set-suspended',
  `update organization set suspended_at = case when $2 then now() end
   where id = $1 and deletion_due_at is null and (suspended_at is not null) <> $2 returning id`,
)

export function presentOrg(
  { plan, created_at, required_labels: labels, required_zone: zone, ...row }: OperatedOrgRow,
  defaultPlan: PlanName,
): OperatedOrg {
  return { ...row, plan: plan ?? defaultPlan, placement: { labels, zone }, created_at: created_at.toISOString() }
}
