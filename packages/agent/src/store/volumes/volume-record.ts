import { join } from 'node:path'
import { isUuid, parseVolumeId, type VolumeId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** Written last: without it the folder is no volume. */
const RECORD = 'volume.json'
/** The ext4 file system itself, sparse. */
const DATA = 'data'

const volumeRecord = z.object({
  format: recordFormat,
  id: z.string().transform((text, context): VolumeId => {
    const id = parseVolumeId(text)
    if (id !== null) return id
    context.addIssue({ code: 'custom', message: 'no id of a volume' })
    return z.NEVER
  }),
  workspace_id: z.string().refine(isUuid),
  /** For what people are told. */
  name: z.string(),
  /** MiB. The file may still be smaller, after a power cut: it is made as large before it is used. */
  size_mb: z.int(),
  /** The file system may still be smaller than its device: it grows before the next sandbox has it. */
  is_growing: z.boolean(),
  /** A sandbox has had it. */
  was_attached: z.boolean(),
  created_at: z.iso.datetime(),
})
export type VolumeRecord = z.infer<typeof volumeRecord>

export async function writeVolumeRecord(folder: string, record: VolumeRecord): Promise<void> {
  await writeFileDurably(volumeRecordPath(folder), `${JSON.stringify(record)}\n`)
}

/** `absent`: the volume was never finished, or is being removed. */
export async function readVolumeRecord(folder: string): Promise<RecordRead<VolumeRecord>> {
  return readRecord(volumeRecordPath(folder), (content) => volumeRecord.parse(content))
}

function volumeRecordPath(folder: string): string {
  return join(folder, RECORD)
}

export function volumeDataPath(folder: string): string {
  return join(folder, DATA)
}
