import type { WorkspaceId } from '@offshoot/contract/ids'

export interface Rate {
  /** Tokens of a full bucket. */
  readonly burst: number
  readonly perSecond: number
}

export interface Asked {
  readonly want: number
  /** Of an earlier lease, given back. */
  readonly unused: number
}

/** Up to as many tokens as were wanted, and the rate that holds for the workspace. */
export interface Lease extends Rate {
  readonly granted: number
}

/** The buckets of all workspaces, common to all control processes: together those get no more than a bucket has. */
export interface TokenBuckets {
  /** @param rate of a workspace that has none of its own */
  lease(workspaceId: WorkspaceId, asked: Asked, rate: Rate): Promise<Lease>
}
