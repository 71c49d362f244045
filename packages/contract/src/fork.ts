import { z } from 'zod'
import { MAX_FORK_CHILDREN } from './agent-api.ts'
import { flag, integer, optional, text } from './fields.ts'
import { createSandboxBody, sandbox } from './sandbox.ts'

/** Children of a fork tree when the caller names no number. */
export const DEFAULT_FORK_COUNT = 2

/** Body of `POST /v1/sandboxes/{id}/fork`. */
export const forkBody = z.object({
  /** Replaces the parent's; a copy of the parent's when absent. */
  metadata: createSandboxBody.shape.metadata,
})
export type ForkBody = z.infer<typeof forkBody>

/** Body of `POST /v1/sandboxes/{id}/fork-tree`. Each child's metadata gets `fork_tree_id` and `fork_index` beside the rest. */
export const forkTreeBody = forkBody.extend({
  count: optional(integer('count', 1, MAX_FORK_CHILDREN)),
})

/** What the children lack that their parent has, in sentences; empty most of the time. */
const warnings = z.array(z.string())

/** Answer of `POST /v1/sandboxes/{id}/fork`: the child, and what a fork tree's answer has. */
export const fork = sandbox.extend({
  snapshot_id: z.string(),
  children: z.array(sandbox).length(1),
  warnings,
})
export type Fork = z.infer<typeof fork>

/** Answer of `POST /v1/sandboxes/{id}/fork-tree`. Refused only when not one child came to run. */
export const forkTree = z.object({
  tree_id: z.string(),
  parent_id: z.string(),
  snapshot_id: z.string(),
  /** In the order of their `fork_index`. */
  children: z.array(sandbox),
  /** Children of which nothing is left. */
  errors: z.array(z.object({ index: z.int(), error: z.string() })),
  warnings,
})
export type ForkTree = z.infer<typeof forkTree>

/** Body of `POST /v1/sandboxes/{id}/promote`. */
export const promoteBody = z.object({
  /** Another tree than the sandbox's is refused with 409. */
  tree_id: optional(text('tree_id', 64)),
  /** Whether the other children of the tree are deleted; default true. Those promoted before are no longer among them. */
  cleanup_siblings: optional(flag('cleanup_siblings')),
})
export type PromoteBody = z.infer<typeof promoteBody>

/** Answer of `POST /v1/sandboxes/{id}/promote`. */
export const promotion = z.object({
  /** The promoted sandbox's id. */
  winner: z.string(),
  tree_id: z.string(),
  /** Ids of the siblings that are gone. */
  deleted: z.array(z.string()),
  /** By id, why a sibling is still there; it is deleted as soon as that can be done. */
  failures: z.record(z.string(), z.string()),
})
export type Promotion = z.infer<typeof promotion>
