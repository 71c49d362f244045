import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { MAX_VOLUME_MIB } from './plan.ts'

/** MiB of a volume whose creator names no size. */
export const DEFAULT_VOLUME_MIB = 256
/** Volumes of one sandbox. */
export const MAX_SANDBOX_VOLUMES = 8

/** As interface.md has it. */
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
  /** MiB, 1 to 65536; default 256, or the snapshot's. */
  size_mb: optional(sizeMb),
  /** Id of a snapshot of a volume, which it begins as a copy of. */
  from_snapshot: optional(text('from_snapshot', 64)),
})
export type CreateVolumeBody = z.infer<typeof createVolumeBody>

/** Body of `PATCH /v1/volumes/{name}`: it grows, also while a sandbox has it. */
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
  /** Bytes that it really takes on the agent's disk; `null` while the agent cannot be asked. */
  used_bytes: z.int().nullable(),
  /** It stays there for its life. */
  agent_id: z.string(),
  /** The sandbox that has it; of several that read it the first. */
  attached_to: z.string().nullable(),
  /** Every sandbox that has it: one that writes, or any number that read. */
  attachments: z.array(z.object({ sandbox_id: z.string(), read_only: z.boolean() })),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type Volume = z.infer<typeof volume>

/** A copy of a volume that nothing writes to, as the API shows it; it outlives the volume. */
export const volumeSnapshot = z.object({
  /** UUID. */
  id: z.string(),
  /** Name of the volume it was taken of. */
  volume: z.string(),
  /** MiB. */
  size_mb: z.int(),
  /** The same in bytes. */
  size_bytes: z.int(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type VolumeSnapshot = z.infer<typeof volumeSnapshot>
