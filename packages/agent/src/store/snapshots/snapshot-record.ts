import { join } from 'node:path'
import { agentSnapshot, type AgentSnapshot } from '@offshoot/contract/agent-api'
import { parseSnapshotId, type SnapshotId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'
import { runAs } from '../templates/template-record.ts'
import { machineDevice } from '../volumes/machine-device.ts'

/** Beside the checkpoint's files, written last: a folder without this file is an unfinished snapshot. */
const RECORD = 'snapshot.json'

const snapshotRecord = agentSnapshot.extend({
  format: recordFormat,
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
    ...shown
  } = record
  return shown
}
