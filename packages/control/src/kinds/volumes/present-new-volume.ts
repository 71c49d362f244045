import type { Volume } from '@offshoot/contract/volume'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { usedBytes } from './used-bytes.ts'
import { presentVolume, type VolumeRow } from './volume-row.ts'

/** The public view of a new volume, which is not attached to any sandbox. */
export async function presentNewVolume(control: BillingContext, row: VolumeRow, requestId: string): Promise<Volume> {
  const used = await usedBytes(control, row.workspace_id, [row], requestId)
  return presentVolume({ ...row, attachments: [] }, used.get(row.id) ?? null)
}
