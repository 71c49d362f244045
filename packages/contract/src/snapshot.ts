import { z } from 'zod'
import { once, type Page, pageQuery } from './page.ts'

/** Memory, devices and disk of one instant of one sandbox, as the API shows it. It outlives that sandbox. */
export const snapshot = z.object({
  /** UUID. */
  id: z.string(),
  /** The sandbox it was taken of, which may be gone. */
  sandbox_id: z.string(),
  /** The template of that sandbox, and of whatever is created from this. */
  template: z.string(),
  /** vCPUs. */
  cpu: z.int(),
  /** MiB. */
  memory_mb: z.int(),
  /** Bytes on disk that are this snapshot's own. */
  size_bytes: z.int(),
  /** `fork`: made for the children of a fork; it goes by itself once none is left. */
  origin: z.enum(['user', 'fork']),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type Snapshot = z.infer<typeof snapshot>

/** Query of `GET /v1/snapshots`, which lists what users have taken. */
export const snapshotListQuery = z.object({
  /** Those of one sandbox. */
  sandbox_id: once('sandbox_id').optional(),
  ...pageQuery.shape,
})

/** {@link snapshotListQuery} once parsed, with its defaults. */
export interface SnapshotListQuery extends Page {
  readonly sandboxId: string | undefined
}
