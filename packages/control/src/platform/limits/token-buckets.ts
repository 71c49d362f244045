import type { WorkspaceId } from '@offshoot/contract/ids'

export interface Rate {
  /** Tokens of a full bucket. */
  readonly burst: number
  readonly perSecond: number
}

export interface Asked {
  readonly want: number
  /** Tokens of an earlier lease that are returned. */
  readonly unused: number
}

/** At most the requested number of tokens, and the workspace's rate. */
export interface Lease extends Rate {
  readonly granted: number
}

/**
 * The buckets of all workspaces, shared by all control processes. Together the processes get no more tokens than a
 * bucket has.
 */
export interface TokenBuckets {
  /** @param rate used for a workspace without a rate of its own */
  lease(workspaceId: WorkspaceId, asked: Asked, rate: Rate): Promise<Lease>
}
