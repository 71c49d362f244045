import { z } from 'zod'
import { sandboxStatus } from './sandbox.ts'

/** Most nodes of one answer. */
export const MAX_LINEAGE_NODES = 2000

/** A sandbox or a snapshot of a tree. */
const lineageNode = z.object({
  /** UUID. */
  id: z.string(),
  kind: z.enum(['sandbox', 'snapshot']),
  /** How it came of its parent. A snapshot is always a `snapshot_of` its parent. */
  link: z.enum(['template', 'fork', 'from_snapshot', 'snapshot_of']),
  /** The node that it came of, also if that is not known any more. `null`: made from the template. */
  parent_id: z.string().nullable(),
  /** `metadata.name` of a sandbox, the name of a snapshot. */
  name: z.string().nullable(),
  template: z.string(),
  /** Of a sandbox its status, of a snapshot `creating` or `ready`. */
  status: z.enum([...sandboxStatus.options, 'ready', 'deleted']),
  /** vCPUs. */
  cpu: z.int(),
  /** MiB that the sandbox has. A snapshot has none itself: whatever starts from it gets as much. */
  memory_mb: z.int(),
  /** Bytes on disk that only this snapshot uses; `null` for sandboxes. */
  size_bytes: z.int().nullable(),
  /** The fork tree in which the sandbox was made. */
  fork_tree_id: z.string().nullable(),
  /** Whether the sandbox won its fork tree. Its `parent_id` stays the one that it came of. */
  promoted: z.boolean(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** RFC 3339, UTC, milliseconds. `null` while it exists. */
  deleted_at: z.string().nullable(),
})
export type LineageNode = z.infer<typeof lineageNode>

/** Answer of `GET /v1/sandboxes/{id}/lineage`. Deleted nodes stay for as long as events do. */
export const lineage = z.object({
  /** The oldest ancestor. It is none of the nodes if it was deleted too long ago. */
  root_id: z.string(),
  /** The ancestors of the sandbox first, then existing nodes before deleted ones, older before younger ones. */
  nodes: z.array(lineageNode),
  /** Whether the tree has more than 2,000 nodes. Then the last ones are missing. */
  truncated: z.boolean(),
})
export type Lineage = z.infer<typeof lineage>
