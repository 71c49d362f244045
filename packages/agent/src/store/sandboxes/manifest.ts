import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bootMode, egress } from '@offshoot/contract/sandbox'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'
import { readRecordSync, recordFormat, type RecordRead } from '../ledger/read-record.ts'
import { runAs } from '../templates/template-record.ts'
import { machineDevice } from '../volumes/machine-device.ts'

/** The file in a sandbox's folder that says what the folder is; ours alone, QEMU's user cannot read it. */
export const MANIFEST = 'manifest.json'

/**
 *                  ┌──► paused ────┐
 *     creating ──► running ◄───────┤
 *         │        └──► hibernated ┘
 *         ▼
 *     (removed)    any of them ──► failed; any ──► deleting ──► (removed)
 *
 * A folder that is `creating` when an agent starts was never answered for: it is removed. One that is `deleting` is
 * finished. Only `running` and `paused` have a QEMU, whose CPUs stand still when `paused`.
 */
const manifestStatus = z.enum(['creating', 'running', 'paused', 'hibernated', 'failed', 'deleting'])

const manifest = z.object({
  format: recordFormat,
  id: z.uuid(),
  workspace_id: z.string(),
  template: z.string(),
  /** The bake it was restored from, `NAME/FINGERPRINT`: its files are mapped as long as this sandbox is here. */
  bake: z.string(),
  /** Number of its user and of what else each VM has of its own; `NO_SLOT` while it is hibernated. */
  slot: z.int(),
  /** While `hibernated`: the slot that it had, and gets again unless another sandbox has it by then. */
  home_slot: z.int().optional(),
  status: manifestStatus,
  created_at: z.iso.datetime(),
  cpu: z.int(),
  memory_mb: z.int(),
  guest_ip: z.string().nullable(),
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  /** The snapshot it was restored from; `null`: the template's own. */
  from_snapshot: z.uuid().nullable(),
  /** The sandbox it was forked from, until it is promoted. */
  parent_id: z.uuid().nullable(),
  fork_tree_id: z.uuid().nullable(),
  /** Hibernates after so many seconds without activity. */
  persistent: z.boolean(),
  idle_timeout_seconds: z.int(),
  /** What its template says of commands that say nothing themselves. */
  run_as: runAs,
  /** Where its packets may go, for all its life. */
  egress,
  /** Frozen layers of its disk, the lowest first, for a start that is still to come: while `creating` and `hibernated`. */
  layers: z.array(layerId),
  /** Its block devices for volumes; those it holds are nobody else's to write as long as it is not `failed`. */
  devices: z.array(machineDevice).default([]),
  /** Its disk outlives its VM: see `template-image.ts`. */
  durable: z.boolean().default(false),
  /** While `hibernated`: it has no memory, so that it is booted from its disk. */
  cold: z.boolean().default(false),
  /**
   * Version of the QEMU that its VM was started in, `7.2.22`: only one of the same series loads what that one saves. Absent in
   * manifests of earlier agents.
   */
  qemu_version: z.string().optional(),
  qemu: z.object({ pid: z.int(), startTicks: z.int() }).nullable(),
})
export type Manifest = z.infer<typeof manifest>

export async function writeManifest(folder: string, content: Manifest): Promise<void> {
  await writeFileDurably(join(folder, MANIFEST), format(content))
}

/**
 * Replaces the manifest of a sandbox that has a VM. A host that loses power loses the VM with it, so that nothing waits for the disk;
 * but the disk of a durable sandbox outlives both, and its manifest must not come back empty.
 */
export async function writeRunningManifest(folder: string, content: Manifest): Promise<void> {
  await (content.durable ? writeManifest : writeManifestQuickly)(folder, content)
}

/**
 * Replaces the manifest without waiting for the disk: enough while a sandbox is `creating`, since what is left of its folder after a
 * power cut is removed.
 */
export async function writeManifestQuickly(folder: string, content: Manifest): Promise<void> {
  const beside = join(folder, `${MANIFEST}.new`)
  await writeFile(beside, format(content), { mode: 0o600 })
  await rename(beside, join(folder, MANIFEST))
}

/**
 * `absent`: the sandbox was never finished. Read without waiting: at the start of an agent there may be 10,000, nothing is served
 * yet, and a wait for each costs ten times what the file does.
 */
export function readManifest(folder: string): RecordRead<Manifest> {
  return readRecordSync(join(folder, MANIFEST), (content) => manifest.parse(content))
}

function format(content: Manifest): string {
  return `${JSON.stringify(content)}\n`
}
