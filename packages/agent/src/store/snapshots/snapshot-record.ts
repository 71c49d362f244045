import { join } from 'node:path'
import { agentSnapshot, type AgentSnapshot } from '@offshoot/contract/agent-api'
import { parseSnapshotId, type SnapshotId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'
import { type Checkpoint, fileSeal } from '../checkpoints/checkpoint.ts'
import { readRecord, type RecordRead } from '../ledger/read-record.ts'
import { runAs } from '../templates/template-record.ts'
import { machineDevice } from '../volumes/machine-device.ts'

/** Beside the checkpoint's files, written last: a folder without this file is an unfinished snapshot. */
const RECORD = 'snapshot.json'
/** Of a snapshot without memory: earlier agents leave it alone. */
export const DISK_FORMAT = 2

const snapshotRecord = agentSnapshot.extend({
  format: z.union([z.literal(1), z.literal(DISK_FORMAT)]).optional(),
  id: z.string().transform((text, context): SnapshotId => {
    const id = parseSnapshotId(text)
    if (id !== null) return id
    context.addIssue({ code: 'custom', message: 'no id of a snapshot' })
    return z.NEVER
  }),
  /** `NAME/FINGERPRINT`. The checkpoint has only the pages that differ from the memory of this bake. */
  bake: z.string(),
  guest_ip: z.string().nullable(),
  /** Frozen layers of the disk, the lowest first. */
  layers: z.array(layerId),
  /** The guest's block devices for volumes. */
  devices: z.array(machineDevice).default([]),
  run_as: runAs,
  durable: z.boolean().default(false),
  /**
   * Present if it came from another host without its memory: the seal of each layer of its disk. There is no checkpoint
   * then.
   */
  disk: z.array(fileSeal).optional(),
})
export type SnapshotRecord = z.infer<typeof snapshotRecord>

export async function writeSnapshotRecord(folder: string, record: SnapshotRecord): Promise<void> {
  await writeFileDurably(join(folder, RECORD), `${JSON.stringify(record)}\n`)
}

/** `absent`: the snapshot was never finished. */
export async function readSnapshotRecord(folder: string): Promise<RecordRead<SnapshotRecord>> {
  return readRecord(snapshotRecordPath(folder), (content) => snapshotRecord.parse(content))
}

export function snapshotRecordPath(folder: string): string {
  return join(folder, RECORD)
}

export function showSnapshot(record: SnapshotRecord): AgentSnapshot {
  const {
    bake: _bake,
    guest_ip: _ip,
    layers: _layers,
    devices: _devices,
    run_as: _runAs,
    durable: _durable,
    disk: _disk,
    format: _format,
    ...shown
  } = record
  return shown
}

/** The layers of a snapshot without memory, with their seals; `null` if it has a checkpoint, which has them. */
export function sealedDisk({ layers, disk }: SnapshotRecord): Checkpoint['layers'] | null {
  if (disk === undefined) return null
  return layers.flatMap((id, index) => {
    const seal = disk[index]
    return seal === undefined ? [] : [{ id, ...seal }]
  })
}
