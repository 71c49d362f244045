import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { PLANS } from '@offshoot/contract/plan'
import type { BillingContext } from '../billing/model/billing-context.ts'
import type { Queryable } from '../../platform/db/statement.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockAccount } from '../orgs/identity/account-statements.ts'
import { accountOfWorkspace } from '../orgs/identity/account-statements.ts'
import { accountRefusal } from '../billing/limits/refusal.ts'
import type { VolumeRow } from './volume-row.ts'
import { countVolumes } from './volume-statements.ts'

/** Volume snapshots that a plan includes per volume. */
const SNAPSHOTS_PER_VOLUME = 10
/** PostgreSQL: unique_violation. */
const UNIQUE_VIOLATION = '23505'

export interface WantedVolume {
  readonly kind: VolumeRow['kind']
  readonly sizeMb: number
}

/**
 * Inserts the row of a new volume if the workspace's quota allows it. The account's row is locked first, so that
 * concurrent inserts are counted.
 * @throws ApiError 402, 409 if the name is taken, 429
 */
export async function admitVolume<T>(
  { database: { pool }, config }: Pick<BillingContext, 'database' | 'config'>,
  workspaceId: WorkspaceId,
  { kind, sizeMb }: WantedVolume,
  insert: (on: Queryable) => Promise<T>,
): Promise<T> {
  await accountOfWorkspace(pool, workspaceId, config.limits.default_plan)
  return transaction(pool, async (client) => {
    const [account] = await lockAccount(client, workspaceId)
    if (account === undefined) throw new Error(`workspace ${workspaceId} has lost its account`)
    const refusal = accountRefusal(account, new Date())
    if (refusal !== null) throw refusal
    const { count, sizeMib } = PLANS[account.plan].volumes
    if (sizeMb > sizeMib) throw new ApiError('volumeQuota', { max_size_mb: sizeMib })
    const max = count === null || kind === 'volume' ? count : count * SNAPSHOTS_PER_VOLUME
    const [has] = max === null ? [] : await countVolumes(client, workspaceId, kind)
    if (max !== null && has !== undefined && has.count >= max)
      throw new ApiError('volumeQuota', { max, active: has.count })
    return insert(client)
  }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION)
      throw new ApiError('volumeExists', {}, { cause: error })
    throw error
  })
}

/** Checks the quota for a volume that is to grow. @throws ApiError 429 */
export async function admitGrowth(
  { database: { pool }, config }: Pick<BillingContext, 'database' | 'config'>,
  workspaceId: WorkspaceId,
  sizeMb: number,
): Promise<void> {
  const account = await accountOfWorkspace(pool, workspaceId, config.limits.default_plan)
  const { sizeMib } = PLANS[account.plan].volumes
  if (sizeMb > sizeMib) throw new ApiError('volumeQuota', { max_size_mb: sizeMib })
}
