import type { WorkspaceId } from '@offshoot/contract/ids'
import { type Plan, PLANS } from '@offshoot/contract/plan'
import type { SandboxLimits } from '@offshoot/contract/sandbox-limits'
import { monthOf } from '../model/credit-statements.ts'
import type { BillingContext } from '../model/billing-context.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { accountOfWorkspace, type AccountRow, lockAccount } from '../../orgs/identity/account-statements.ts'
import { holdingsOf, noteCreates } from './quota-statements.ts'
import { accountRefusal, monthRefusal, planRefusal } from './refusal.ts'

/** The requested sandboxes, all of one size. */
export interface Wanted {
  readonly ids: readonly string[]
  /** vCPUs of each. */
  readonly cpu: number
  /** MiB of each. */
  readonly memoryMib: number
  /** They take the place of others that still count, so they need no room in the quota. */
  readonly isReplacement?: boolean
}

export interface Admitted<T> {
  readonly inserted: T
  /** The performance limits of each sandbox. */
  readonly limits: SandboxLimits
}

/**
 * Inserts the rows of new sandboxes if the workspace's quota allows them. A concurrent insert of the same workspace
 * waits for the account's row and then counts the rows of the others, so no cap is ever exceeded. A plan without caps
 * needs no lock, and neither does a replacement.
 *
 * @throws ApiError 402, 429
 */
export async function admitSandboxes<T>(
  { database: { pool }, config, creates }: Pick<BillingContext, 'database' | 'config' | 'creates'>,
  workspaceId: WorkspaceId,
  wanted: Wanted,
  insert: (on: Queryable) => Promise<T>,
): Promise<Admitted<T>> {
  const account = await accountOfWorkspace(pool, workspaceId, config.limits.default_plan)
  throwIfRefused(account)
  const plan = PLANS[account.plan]
  if (wanted.isReplacement === true || !hasCaps(plan)) {
    return { inserted: await insert(pool), limits: plan.sandboxLimits }
  }
  return creates.run(workspaceId, () =>
    transaction(pool, async (client) => {
      const { sandboxLimits: limits } = await planWith(client, workspaceId, wanted)
      await noteCreates(client, workspaceId, wanted.ids)
      return { inserted: await insert(client), limits }
    }),
  )
}

/** Locks the account and returns the workspace's plan if it allows this much more. */
async function planWith(on: Queryable, workspaceId: WorkspaceId, { ids, cpu, memoryMib }: Wanted): Promise<Plan> {
  const [account] = await lockAccount(on, workspaceId)
  if (account === undefined) throw new Error(`workspace ${workspaceId} has lost its account`)
  throwIfRefused(account)
  const plan = PLANS[account.plan]
  const [month] = await monthOf(on, workspaceId)
  const [has] = await holdingsOf(on, workspaceId)
  if (has === undefined || month === undefined) throw new Error('a count gave no row')
  const demand = { count: ids.length, cpu: cpu * ids.length, memoryMib: memoryMib * ids.length }
  const refusal = monthRefusal(plan, month) ?? planRefusal(plan, has, demand)
  if (refusal !== null) throw refusal
  return plan
}

function throwIfRefused(account: AccountRow): void {
  const refusal = accountRefusal(account, new Date())
  if (refusal !== null) throw refusal
}

/** Whether the plan limits anything about sandboxes. */
function hasCaps({ volumes: _v, orgs: _o, seats: _s, webhooks: _w, sandboxLimits: _l, ...caps }: Plan): boolean {
  return Object.values(caps).some((cap) => cap !== null)
}
