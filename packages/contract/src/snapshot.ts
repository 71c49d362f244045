import { z } from 'zod'
import { isStorable, optional, text } from './fields.ts'
import { createdQuery, once } from './page.ts'

/** Body of `POST /v1/sandboxes/{id}/snapshots`. */
export const snapshotBody = z.object({
  /** A label of 1 to 128 characters. Several snapshots may have the same. */
  name: optional(
    text('name', 128)
      .min(1, 'name must not be empty')
      .refine(isStorable, 'name must not contain NUL or half a surrogate pair'),
  ),
})

/** The memory, devices and disk of one sandbox at one instant. It survives the sandbox. */
export const snapshot = z.object({
  /** UUID. */
  id: z.string(),
  /** As given when it was taken; `null` without. */
  name: z.string().nullable(),
  /** The source sandbox; it may be deleted. */
  sandbox_id: z.string(),
  /** The template of the source sandbox, and of every sandbox created from this snapshot. */
  template: z.string(),
  /** vCPUs. */
  cpu: z.int(),
  /** MiB. */
  memory_mb: z.int(),
  /** Bytes on disk that only this snapshot uses. */
  size_bytes: z.int(),
  /** `fork`: made for the children of a fork, and deleted with the last of them. */
  origin: z.enum(['user', 'fork']),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type Snapshot = z.infer<typeof snapshot>

/** Query of `GET /v1/snapshots`, which lists snapshots taken by users. */
export const snapshotListQuery = createdQuery.extend({
  /** Only snapshots with exactly this name. */
  name: once('name').optional(),
  /** Only snapshots of this sandbox. */
  sandbox_id: once('sandbox_id').optional(),
  /** Only snapshots of sandboxes of this template. */
  template: once('template').optional(),
})
