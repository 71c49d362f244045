import { readFileSync } from 'node:fs'
import { link, open, rename, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { agentMove } from '@offshoot/contract/agent-move'
import { bootMode, egress, visibility } from '@offshoot/contract/sandbox'
import { sandboxLimits } from '@offshoot/contract/sandbox-limits'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'
import { DELETED } from '../ledger/ledger.ts'
import { readRecordSync, type RecordRead } from '../ledger/read-record.ts'
import { runAs } from '../templates/template-record.ts'
import { machineDevice } from '../volumes/machine-device.ts'

/** The file in a sandbox's folder with its description. QEMU's user cannot read it. */
export const MANIFEST = 'manifest.json'
/** The synced manifest of the sandbox's creation, for {@link readFirstManifest}. */
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
 * The format of a sandbox that is hibernated over bases (`MemoryBases`) or with compressed memory (`compressed-memory.ts`).
 * An agent that does not know it must leave the sandbox alone. All others have format 1, which is not written.
 */
export const NEWER_FORMAT = 2

/** The format of a sandbox that moves to another host. An agent that does not know it must not wake the sandbox. */
export const MOVING_FORMAT = 3

const manifest = z.object({
  format: z.union([z.literal(1), z.literal(NEWER_FORMAT), z.literal(MOVING_FORMAT)]).optional(),
  id: z.uuid(),
  workspace_id: z.string(),
  template: z.string(),
  /** The bake that it was restored from, `NAME/FINGERPRINT`. Its files are mapped as long as this sandbox exists. */
  bake: z.string(),
  /** The number of its user, TAP and control group; `NO_SLOT` while it is hibernated. */
  slot: z.int(),
  /** While `hibernated`: the slot that it had, and gets again unless another sandbox has taken it. */
  home_slot: z.int().optional(),
  status: manifestStatus,
  created_at: z.iso.datetime(),
  cpu: z.int(),
  memory_mb: z.int(),
  guest_ip: z.string().nullable(),
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  /** The snapshot that it was restored from; `null`: its template. */
  from_snapshot: z.uuid().nullable(),
  /** The sandbox that it was forked from, until it is promoted. */
  parent_id: z.uuid().nullable(),
  fork_tree_id: z.uuid().nullable(),
  /** Hibernates after so many seconds without activity. */
  persistent: z.boolean(),
  idle_timeout_seconds: z.int(),
  /** The template's user and folder for commands that name none. */
  run_as: runAs,
  /** The destinations of its packets, for all its life. */
  egress,
  /** Whether its ports are open to visitors whom the edge has not admitted. */
  visibility: visibility.default('public'),
  /** Its limits by its workspace's plan; `null`: control has sent none. */
  limits: sandboxLimits.nullable().default(null),
  /** The attempt that has made it, if control has named it: see `deleteOnAgentQuery`. */
  attempt_id: z.uuid().optional(),
  /** While it moves to another host or from one. It is `hibernated` then, and nothing but the move may change it. */
  move: agentMove.optional(),
  /** Frozen layers of its disk, the lowest first, for its next start: while `creating` and `hibernated`. */
  layers: z.array(layerId),
  /** Its block devices for volumes. Until it is `failed`, no other sandbox may write to the volumes that it holds. */
  devices: z.array(machineDevice).default([]),
  /** Its disk outlives its VM: see `template-image.ts`. */
  durable: z.boolean().default(false),
  /** `true` while `hibernated` without memory: its wake boots from its disk. */
  cold: z.boolean().default(false),
  /**
   * Version of its VM's QEMU, `7.2.22`. Only a QEMU of the same series can load its state. Absent in manifests of earlier
   * agents.
   */
  qemu_version: z.string().optional(),
  qemu: z.object({ pid: z.int(), startTicks: z.int() }).nullable(),
})
export type Manifest = z.infer<typeof manifest>

export async function writeManifest(folder: string, content: Manifest): Promise<void> {
  await traceStep('write manifest', () => writeFileDurably(join(folder, MANIFEST), format(content)))
}

/**
 * Replaces the manifest of a sandbox with a VM. Does not wait for the disk, because a host that loses power loses the VM as
 * well. But the disk of a durable sandbox survives, so its manifest must not be empty afterwards.
 */
export async function writeRunningManifest(folder: string, content: Manifest): Promise<void> {
  await (content.durable ? writeManifest : writeManifestQuickly)(folder, content)
}

/**
 * Writes the manifest of a new sandbox in its new folder. The folder may be renamed at once.
 * @returns `onDisk`: await it before the sandbox is announced. It is a property so that this function does not wait for it
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
  // A caller that does not await it has failed for another reason.
  onDisk.catch(() => undefined)
  return { onDisk }
}

/**
 * Writes the manifests of a sandbox that has arrived from another host, into a folder that nothing knows yet. As for any
 * other sandbox, the first one is that of a running sandbox, and counts only if a power cut empties a later one.
 */
export async function writeArrivedManifest(folder: string, content: Manifest): Promise<void> {
  const { move: _move, format: _format, ...first } = content
  await writeFileDurably(join(folder, FIRST), format({ ...first, status: 'running', cold: false, layers: [] }))
  await writeManifest(folder, content)
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

/** Replaces the manifest without waiting for the disk: a power cut may empty the file. */
async function writeManifestQuickly(folder: string, content: Manifest): Promise<void> {
  const beside = join(folder, `${MANIFEST}.new`)
  await traceStep('write manifest', async () => {
    await writeFile(beside, format(content), { mode: 0o600 })
    await rename(beside, join(folder, MANIFEST))
  })
}

/**
 * `absent`: the creation of the sandbox never finished. Synchronous: at the start of an agent there may be 10,000
 * manifests, no request is served yet, and an asynchronous read costs ten times as much.
 */
export function readManifest(folder: string): RecordRead<Manifest> {
  return readRecordSync(join(folder, MANIFEST), (content) => manifest.parse(content))
}

/**
 * Reads the first manifest of a sandbox without a VM, if a power cut may have emptied the later one: a file system that did
 * not sync a file's content may keep its rename and lose the content.
 * @returns `unfinished`: the first one is lost as well, so the sandbox was never announced. `null`: the manifest is damaged
 *   in another way, or there is no first one.
 * @throws an error of the file system
 */
export function readFirstManifest(folder: string): Manifest | 'unfinished' | null {
  if (!isBlank(join(folder, MANIFEST))) return null
  const first = readRecordSync(join(folder, FIRST), (content) => manifest.parse(content))
  if (first.state === 'present') return first.record
  return first.state === 'unreadable' && isBlank(join(folder, FIRST)) ? 'unfinished' : null
}

/** Whether a file is empty, or contains only zeros. */
function isBlank(path: string): boolean {
  return readFileSync(path).every((byte) => byte === 0)
}

/**
 * Reads the manifest of a sandbox that is being deleted.
 * @returns `null` if it is not being deleted, or the manifest is unreadable
 */
export function readDeletedManifest(folder: string): Manifest | null {
  const deleted = readRecordSync(join(folder, DELETED), (content) => manifest.parse(content))
  return deleted.state === 'present' ? { ...deleted.record, status: 'deleting' } : null
}

function format(content: Manifest): string {
  return `${JSON.stringify(content)}\n`
}
