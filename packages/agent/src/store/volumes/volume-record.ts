import { join } from 'node:path'
import { isUuid, parseVolumeId, type VolumeId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** Written last: a folder without this file is an unfinished volume. */
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
  /** Appears in error texts. */
  name: z.string(),
  /** MiB. After a power cut the file may still be smaller: the agent grows it before the next use. */
  size_mb: z.int(),
  /** The file system may still be smaller than its device: the agent grows it before the next sandbox gets it. */
  is_growing: z.boolean(),
  /** Whether a sandbox has ever had it. */
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
