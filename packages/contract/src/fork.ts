import { z } from 'zod'
import { MAX_FORK_CHILDREN } from './agent-api.ts'
import { flag, integer, optional, text } from './fields.ts'
import { createSandboxBody, sandbox } from './sandbox.ts'

/** Default number of children of a fork tree. */
export const DEFAULT_FORK_COUNT = 2

/** Body of `POST /v1/sandboxes/{id}/fork`. */
export const forkBody = z.object({
  /** Replaces the parent's metadata. Default: a copy of it. */
  metadata: createSandboxBody.shape.metadata,
})
export type ForkBody = z.infer<typeof forkBody>

/**
 * Body of `POST /v1/sandboxes/{id}/fork-tree`. The service adds `fork_tree_id` and `fork_index` to each child's
 * metadata.
 */
export const forkTreeBody = forkBody.extend({
  count: optional(integer('count', 1, MAX_FORK_CHILDREN)),
})

/** Sentences about parts of the parent that the children lack. Usually empty. */
const warnings = z.array(z.string())

/** Answer of `POST /v1/sandboxes/{id}/fork`: the child, and the fields of a fork tree. */
export const fork = sandbox.extend({
  snapshot_id: z.string(),
  children: z.array(sandbox).length(1),
  warnings,
})
export type Fork = z.infer<typeof fork>

/** Answer of `POST /v1/sandboxes/{id}/fork-tree`. The request fails only if no child reaches `running`. */
export const forkTree = z.object({
  tree_id: z.string(),
  parent_id: z.string(),
  snapshot_id: z.string(),
  /** Ordered by `fork_index`. */
  children: z.array(sandbox),
  /** Children that failed and left nothing behind. */
  errors: z.array(z.object({ index: z.int(), error: z.string() })),
  warnings,
})
export type ForkTree = z.infer<typeof forkTree>

/** Body of `POST /v1/sandboxes/{id}/promote`. */
export const promoteBody = z.object({
  /** 409 if it is not the sandbox's own tree. */
  tree_id: optional(text('tree_id', 64)),
  /**
   * Whether to delete the other children of the tree; default true. Children that were promoted before are not deleted.
   */
  cleanup_siblings: optional(flag('cleanup_siblings')),
})
export type PromoteBody = z.infer<typeof promoteBody>

/** Answer of `POST /v1/sandboxes/{id}/promote`. */
export const promotion = z.object({
  /** The promoted sandbox's id. */
  winner: z.string(),
  tree_id: z.string(),
  /** Ids of the deleted siblings. */
  deleted: z.array(z.string()),
  /** Reason by id, for each sibling that still exists. The service retries the deletion. */
  failures: z.record(z.string(), z.string()),
})
export type Promotion = z.infer<typeof promotion>
