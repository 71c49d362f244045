import { PLANS } from '@offshoot/contract/plan'
import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { applyTransitions, type Transition } from './apply-transitions.ts'
import { resizeStorage, strayStorage } from './storage-statements.ts'

const INCLUDED = JSON.stringify(
  Object.entries(PLANS).flatMap(([plan, { volumes }]) =>
    volumes.includedMib === null ? [] : [{ plan, mib: volumes.includedMib }],
  ),
)

/**
 * Meters the volume bytes of each workspace beyond its plan. A change of plan or volumes is noticed within a minute and
 * counts from then on.
 *
 * @returns the number of workspaces whose excess has changed
 */
export async function settleStorage(pool: pg.Pool): Promise<number> {
  const strays = await strayStorage(pool, INCLUDED)
  const at = new Date().toISOString()
  for (const { workspace_id: id, excess_mib: excess } of strays) {
    const transition: Transition = { id, at, state: excess > 0 ? 'storage' : 'ended' }
    await transaction(pool, async (client) => {
      await resizeStorage(client, id, excess)
      await applyTransitions(client, [transition])
    })
  }
  return strays.length
}
