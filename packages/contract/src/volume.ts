import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { MAX_VOLUME_MIB } from './plan.ts'
import { createdQuery, once } from './page.ts'
import { queryBoolean } from './query-fields.ts'

/** Default MiB of a volume. */
export const DEFAULT_VOLUME_MIB = 256
/** Maximum volumes of one sandbox. */
export const MAX_SANDBOX_VOLUMES = 8

/** The wording of the specification. */
const NAME_MISSING = 'name is required'
const NAME_REFUSED =
  'name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-", and begin with a letter or digit'
const volumeName = z
  .string({ error: ({ input }) => (input === undefined || input === null ? NAME_MISSING : 'name must be a string') })
  .min(1, NAME_MISSING)
  .max(64, 'name must be at most 64 characters')
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, NAME_REFUSED)
const sizeMb = integer('size_mb', 1, MAX_VOLUME_MIB)

/** Body of `POST /v1/volumes`. */
export const createVolumeBody = z.object({
  /** Unique in the workspace. */
  name: volumeName,
  /** MiB, 1 to 65536. Default: 256, or the snapshot's size. */
  size_mb: optional(sizeMb),
  /** Id of a volume snapshot to copy. */
  from_snapshot: optional(text('from_snapshot', 64)),
})
export type CreateVolumeBody = z.infer<typeof createVolumeBody>

/** Body of `PATCH /v1/volumes/{name}`: grows the volume, also while it is attached. */
export const patchVolumeBody = z.object({ size_mb: integer('size_mb', 1, MAX_VOLUME_MIB) })

/** Body of `POST /v1/volumes/{name}/clone`. */
export const cloneVolumeBody = z.object({ name: volumeName })

/** A volume as the API shows it. */
export const volume = z.object({
  name: z.string(),
  /** MiB. */
  size_mb: z.int(),
  /** The same in bytes. */
  size_bytes: z.int(),
  /** Bytes that it occupies on the agent's disk; `null` while the agent is unreachable. */
  used_bytes: z.int().nullable(),
  /** The volume's host; it never changes. */
  agent_id: z.string(),
  /** The sandbox that has it attached; with several readers, the first. */
  attached_to: z.string().nullable(),
  /** All sandboxes that have it attached: one writer, or any number of readers. */
  attachments: z.array(z.object({ sandbox_id: z.string(), read_only: z.boolean() })),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type Volume = z.infer<typeof volume>

/** An immutable copy of a volume. It survives the volume. */
export const volumeSnapshot = z.object({
  /** UUID. */
  id: z.string(),
  /** Name of the source volume. */
  volume: z.string(),
  /** MiB. */
  size_mb: z.int(),
  /** The same in bytes. */
  size_bytes: z.int(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type VolumeSnapshot = z.infer<typeof volumeSnapshot>

/** Query of `GET /v1/volumes`. */
export const volumeListQuery = createdQuery.extend({
  name: once('name').optional(),
  /** Whether a sandbox has the volume attached. */
  attached: queryBoolean('attached'),
})
