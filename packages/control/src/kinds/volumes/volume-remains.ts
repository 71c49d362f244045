import { randomUUID } from 'node:crypto'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { BillingContext } from '../billing/model/billing-context.ts'
import type { Remains } from '../../platform/idempotency/idempotency.ts'
import { presentNewVolume } from './present-new-volume.ts'
import { presentVolumeSnapshot } from './volume-row.ts'
import { volumeById } from './volume-statements.ts'

/**
 * Finds the result of a create, clone or snapshot whose process died. The row tells, once reconciliation has settled
 * it.
 */
export async function volumeRemains(control: BillingContext, workspaceId: WorkspaceId, id: string): Promise<Remains> {
  const [row] = await volumeById(control.database.pool, workspaceId, id)
  if (row === undefined) return 'nothing'
  if (row.status === 'creating') return 'unsettled'
  const made = row.kind === 'snapshot' ? presentVolumeSnapshot(row) : await presentNewVolume(control, row, randomUUID())
  return { status: 201, body: JSON.stringify(made) }
}
