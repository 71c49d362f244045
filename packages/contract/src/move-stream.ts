import { z } from 'zod'
import { bakeHash } from './agent-move.ts'
import { isUuid } from './ids.ts'
import { bootMode, egress, visibility } from './sandbox.ts'
import { sandboxLimits } from './sandbox-limits.ts'
import { templateImage } from './template-image.ts'

/**
 * The head of the stream that an export answers and an import reads, of a sandbox (docs/adr/0048-moving-sandboxes.md), of a
 * snapshot (docs/adr/0059-snapshots-on-any-host.md) or of a template (docs/adr/0062-templates-on-any-host.md).
 */

/** What a stream begins with, before the length of the header. */
export const MOVE_BEGIN = 'OFFMOVE1'
/** What it ends with. */
export const MOVE_END = 'OFFMOVE.'
export const MAX_MOVE_HEADER_BYTES = 1024 * 1024

/** Maximum layers of a disk that moves. The agent flattens longer ones. */
export const MAX_MOVED_LAYERS = 256
/** Maximum bases of a memory that moves. */
const MAX_MOVED_BASES = 9
/** Bytes. An impossible size is refused before anything is read. */
const MAX_FILE_BYTES = 2 ** 42

/**
 * The names of files in a stream. A receiver chooses the path of each by itself. Layers and bases are counted from the
 * lowest.
 */
const fileName = z
  .string()
  .regex(
    /^(?:events(?:\.1)?\.jsonl|log(?:\.1)?\.jsonl|usage\.json|memory\/(?:state|pages|runs|base-\d\.(?:pages|runs))|layers\/(?:0|[1-9]\d{0,2})|disk\/(?:rootfs\.ext4|lower\.qcow2)|bake\/(?:memory|state|volumes\.state|rootfs\.ext4|lower\.qcow2|disk\.qcow2|bake\.json))$/,
  )

export const movedFile = z.strictObject({
  name: fileName,
  bytes: z.int().min(0).max(MAX_FILE_BYTES),
  /**
   * Of the content. For the files of a bake or of a template's disk, and for layers of a sandbox without memory, of what is
   * not zero, with its places (`seal-file.ts` of the agent).
   */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type MovedFile = z.infer<typeof movedFile>

const text = z.string().max(4096)

/** What the manifest of a sandbox says on every host. */
export const movedSandbox = z.strictObject({
  id: z.uuid(),
  workspace_id: z.string().refine(isUuid),
  template: text,
  created_at: z.iso.datetime(),
  cpu: z.int().min(1).max(1024),
  memory_mb: z.int().min(1).max(1_048_576),
  guest_ip: z.ipv4().nullable(),
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  from_snapshot: z.uuid().nullable(),
  parent_id: z.uuid().nullable(),
  fork_tree_id: z.uuid().nullable(),
  persistent: z.boolean(),
  idle_timeout_seconds: z.int().min(1),
  run_as: z.strictObject({ user: text.optional(), cwd: text.optional() }),
  egress,
  visibility,
  limits: sandboxLimits.nullable(),
  /** Its disk outlives its VM. Absent for most. */
  durable: z.literal(true).optional(),
})
export type MovedSandbox = z.infer<typeof movedSandbox>

/** What a checkpoint says about the guest's memory. */
const movedMemory = z.strictObject({
  machine: text,
  tsc_khz: z.number().positive().optional(),
  guest_ip: z.ipv4().nullable(),
  created_at: z.iso.datetime(),
  bases: z.int().min(0).max(MAX_MOVED_BASES),
})

/** What the record of a snapshot says on every host. */
export const movedSnapshot = z.strictObject({
  id: z.uuid(),
  workspace_id: z.string().refine(isUuid),
  sandbox_id: z.uuid(),
  template: text,
  cpu: z.int().min(1).max(1024),
  memory_mb: z.int().min(1).max(1_048_576),
  guest_ip: z.ipv4().nullable(),
  created_at: z.iso.datetime(),
  origin: z.enum(['user', 'fork', 'template']),
  /** The block devices of its machine that held volumes. The volumes themselves do not move. */
  devices: z.array(z.strictObject({ place: z.int().min(0).max(7), read_only: z.boolean() })).max(8),
  run_as: z.strictObject({ user: text.optional(), cwd: text.optional() }),
  durable: z.boolean(),
})
export type MovedSnapshot = z.infer<typeof movedSnapshot>

/** What the record of a template says on every host. */
export const movedTemplate = z.strictObject({
  id: z.uuid(),
  workspace_id: z.string().refine(isUuid),
  image: templateImage,
  digest: text,
  created_at: z.iso.datetime(),
})
export type MovedTemplate = z.infer<typeof movedTemplate>

const base = {
  /** Raise it with every change of the stream. */
  format: z.literal(1),
  /** The most bytes that the files occupy on a disk. */
  disk_bytes: z.int().min(0),
  /** In the order of their content in the stream. */
  files: z.array(movedFile).max(1000),
}

const content = {
  ...base,
  /** `null`: the disk comes without the memory. */
  memory: movedMemory.nullable(),
  /** The number of layers of its disk above that of the bake. */
  layers: z.int().min(0).max(MAX_MOVED_LAYERS),
  bake: z.strictObject({ hash: bakeHash, is_included: z.boolean() }),
}

export const moveHeader = z.strictObject({ ...content, move_id: z.uuid(), sandbox: movedSandbox })
export type MoveHeader = z.infer<typeof moveHeader>

/** A template with memory is a snapshot with the same id. */
export const snapshotHeader = z.strictObject({
  ...content,
  snapshot: movedSnapshot,
  template: movedTemplate.optional(),
})
export type SnapshotHeader = z.infer<typeof snapshotHeader>

/** Of a stream with the state of a VM. */
export const streamHeader = z.union([moveHeader, snapshotHeader])
export type StreamHeader = z.infer<typeof streamHeader>

/** A template without memory: the disk that each host bakes. */
export const templateHeader = z.strictObject({ ...base, template: movedTemplate })
export type TemplateHeader = z.infer<typeof templateHeader>

/** Of any stream. */
export type AnyHeader = StreamHeader | TemplateHeader
