import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { applyTransitions } from './apply-transitions.ts'
import { strayMeters } from './meter-statements.ts'
import type { MeterState } from './meter-state.ts'

/** Seconds for which a meter may differ from its row, because the log may still be on its way. */
const PATIENCE_SECONDS = 30
const MAX_AT_ONCE = 1_000

/**
 * Ends meters that no log will end: of sandboxes on a lost agent, or of rows without a VM. If the log later reports an
 * earlier end, the ledger is corrected.
 *
 * @returns the number of settled meters
 */
export async function settleMeters(pool: pg.Pool, patienceSeconds = PATIENCE_SECONDS): Promise<number> {
  const strays = await strayMeters(pool, patienceSeconds, MAX_AT_ONCE)
  const at = new Date().toISOString()
  const transitions = strays.map(({ id, state }) => ({ id, at, state: state as MeterState }))
  await transaction(pool, (client) => applyTransitions(client, transitions))
  return strays.length
}
