import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { CreateOrgBody } from '@offshoot/contract/org'
import { bestPlan, type PlanName, PLANS } from '@offshoot/contract/plan'
import type pg from 'pg'
import type { Actor } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { insertMember, lockUser } from './identity/membership-statements.ts'
import { ensureAccount } from './identity/account-statements.ts'
import { insertOrg, ownedPlans } from './identity/org-statements.ts'
import { slugOf } from './slug-of.ts'

export interface MadeOrg {
  readonly id: WorkspaceId
  readonly slug: string
  readonly name: string
  readonly plan: PlanName
}

/**
 * @throws ApiError 402 if the user owns as many workspaces as the best of their plans allows, 409 if the slug is taken
 */
export async function makeOrg(
  { database, config }: Pick<OrgsContext, 'database' | 'config'>,
  actor: Actor,
  userId: string,
  { name, slug }: CreateOrgBody,
): Promise<MadeOrg> {
  const plan = config.limits.default_plan
  return transaction(database.pool, async (client) => {
    // The row lock makes each of several concurrent creates count the workspaces of the others.
    await lockUser(client, userId)
    const owned = await ownedPlans(client, userId)
    refuseOverCap(
      owned.map((row) => row.plan ?? plan),
      plan,
    )
    const made = await insertUnderSlug(client, name, slug)
    await insertMember(client, made.id, userId, 'owner')
    await ensureAccount(client, made.id, plan, 'default')
    await recordAuditEvent(client, actor, {
      workspaceId: made.id,
      action: 'org.created',
      target: made.id,
      details: { name, slug: made.slug },
    })
    return { ...made, name, plan }
  })
}

function refuseOverCap(plans: readonly PlanName[], defaultPlan: PlanName): void {
  const best = bestPlan(plans.length === 0 ? [defaultPlan] : plans)
  const { orgs } = PLANS[best]
  if (orgs === null || plans.length < orgs) return
  throw new ApiError('orgLimitReached', {
    error: `org limit reached: your ${best} plan allows ${orgs} org(s). Upgrade to create more.`,
  })
}

async function insertUnderSlug(client: pg.PoolClient, name: string, asked: string | undefined) {
  for (let attempt = 0; ; attempt++) {
    const slug = asked ?? slugOf(name, attempt)
    const [row] = await insertOrg(client, name, slug)
    if (row !== undefined) return { id: row.id, slug }
    if (asked !== undefined) throw new ApiError('slugTaken')
  }
}
