import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { applyTransitions } from './apply-transitions.ts'
import { strayMeters } from './meter-statements.ts'
import type { MeterState } from './meter-state.ts'

/** Seconds for which a meter may differ from its row: the log is on its way. */
const PATIENCE_SECONDS = 30
const MAX_AT_ONCE = 1_000

/**
 * Ends what no log will end: sandboxes of an agent that was lost, rows that were found without a VM. Should the log tell it
 * after all, and of an earlier moment, the ledger is corrected by it.
 *
 * @returns how many were settled
 */
export async function settleMeters(pool: pg.Pool, patienceSeconds = PATIENCE_SECONDS): Promise<number> {
  const strays = await strayMeters(pool, patienceSeconds, MAX_AT_ONCE)
  const at = new Date().toISOString()
  const transitions = strays.map(({ id, state }) => ({ id, at, state: state as MeterState }))
  await transaction(pool, (client) => applyTransitions(client, transitions))
  return strays.length
}
