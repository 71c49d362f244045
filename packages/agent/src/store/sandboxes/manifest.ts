import { readFileSync } from 'node:fs'
import { link, open, rename, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { bootMode, egress } from '@offshoot/contract/sandbox'
import { sandboxLimits } from '@offshoot/contract/sandbox-limits'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'
import { DELETED } from '../ledger/ledger.ts'
import { readRecordSync, type RecordRead } from '../ledger/read-record.ts'
import { runAs } from '../templates/template-record.ts'
import { machineDevice } from '../volumes/machine-device.ts'

/** The file in a sandbox's folder that says what the folder is; ours alone, QEMU's user cannot read it. */
export const MANIFEST = 'manifest.json'
/** The manifest as the sandbox was begun, synced: for {@link readFirstManifest}. */
const FIRST = 'manifest.first.json'

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

/**
 * The format of a sandbox that is hibernated over bases (`MemoryBases`) or with compressed memory (`compressed-memory.ts`): an
 * agent that knows neither must leave it alone. Any other has the format 1, which is not written.
 */
export const NEWER_FORMAT = 2

const manifest = z.object({
  format: z.union([z.literal(1), z.literal(NEWER_FORMAT)]).optional(),
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
  /** How fast it may be, by its workspace's plan; `null`: nobody has said so. */
  limits: sandboxLimits.nullable().default(null),
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
 * Writes the manifest of a sandbox that is being made, in its new folder. The folder may be renamed at once.
 * @returns `onDisk`: to be awaited before anybody hears of the sandbox. It is a property, so that the caller does not wait for it here
 */
export async function writeFirstManifest(
  folder: string,
  content: Manifest,
): Promise<{ readonly onDisk: Promise<void> }> {
  const file = await open(join(folder, FIRST), 'wx', 0o600)
  try {
    await file.writeFile(format(content))
    await link(join(folder, FIRST), join(folder, MANIFEST))
  } catch (error) {
    await file.close()
    throw error
  }
  const onDisk = syncAndClose(file)
  // Who does not come to await it has failed for another reason.
  onDisk.catch(() => undefined)
  return { onDisk }
}

/** Makes the folder of a spare that of a sandbox. @returns see {@link writeFirstManifest} */
export async function adoptSpareFolder(
  spare: string,
  folder: string,
  content: Manifest,
): Promise<{ readonly onDisk: Promise<void> }> {
  const written = await writeFirstManifest(spare, content)
  await rename(spare, folder)
  return written
}

async function syncAndClose(file: FileHandle): Promise<void> {
  try {
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Replaces the manifest without waiting for the disk: a power cut may leave an empty file of it. */
async function writeManifestQuickly(folder: string, content: Manifest): Promise<void> {
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

/**
 * What the manifest of a sandbox without a VM was when the sandbox was begun, if a power cut may have taken the later one: file systems
 * keep a rename, and lose the content of the file, when the content was not synced. `unfinished`: the first one is lost as well, so that
 * nobody has heard of the sandbox. `null`: the manifest is damaged in another way, or there is no first one. @throws as the file system does
 */
export function readFirstManifest(folder: string): Manifest | 'unfinished' | null {
  if (!isBlank(join(folder, MANIFEST))) return null
  const first = readRecordSync(join(folder, FIRST), (content) => manifest.parse(content))
  if (first.state === 'present') return first.record
  return first.state === 'unreadable' && isBlank(join(folder, FIRST)) ? 'unfinished' : null
}

/** Without a byte, or with none that was written. */
function isBlank(path: string): boolean {
  return readFileSync(path).every((byte) => byte === 0)
}

/** Of a sandbox whose deletion was begun: what its manifest was. `null`: it was not, or nobody knows. */
export function readDeletedManifest(folder: string): Manifest | null {
  const deleted = readRecordSync(join(folder, DELETED), (content) => manifest.parse(content))
  return deleted.state === 'present' ? { ...deleted.record, status: 'deleting' } : null
}

function format(content: Manifest): string {
  return `${JSON.stringify(content)}\n`
}
