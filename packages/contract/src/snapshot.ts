import { z } from 'zod'
import { createdQuery, once } from './page.ts'

/** The memory, devices and disk of one sandbox at one instant. It survives the sandbox. */
export const snapshot = z.object({
  /** UUID. */
  id: z.string(),
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
  /** Only snapshots of this sandbox. */
  sandbox_id: once('sandbox_id').optional(),
  /** Only snapshots of sandboxes of this template. */
  template: once('template').optional(),
})
