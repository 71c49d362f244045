import type { Volume } from '@offshoot/contract/volume'
import type { Control } from '../../control.ts'
import { usedBytes } from './used-bytes.ts'
import { presentVolume, type VolumeRow } from './volume-row.ts'

/** One that nobody has had yet. */
export async function presentNewVolume(control: Control, row: VolumeRow, requestId: string): Promise<Volume> {
  const used = await usedBytes(control, row.workspace_id, [row], requestId)
  return presentVolume({ ...row, attachments: [] }, used.get(row.id) ?? null)
}
