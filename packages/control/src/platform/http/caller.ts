import type { WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceSummary } from '@offshoot/contract/identity'
import type { WorkspaceRole } from '@offshoot/contract/role'
import type { Scope } from '@offshoot/contract/scope'

/** A workspace that a user is a member of. */
export type Membership = WorkspaceSummary & { readonly id: WorkspaceId; readonly isSuspended: boolean }

interface InWorkspace {
  readonly workspaceId: WorkspaceId
  /** Of a key: that of the member who made it. */
  readonly role: WorkspaceRole
  /** An operator has stopped what the workspace computes. */
  readonly isSuspended: boolean
}

/** Who a request speaks for, once its credential has been checked. */
export type Caller = KeyCaller | UserCaller

interface KeyCaller extends InWorkspace {
  readonly method: 'key'
  readonly prefix: string
  /** `null`: everything. */
  readonly scopes: readonly Scope[] | null
}

export interface UserCaller extends InWorkspace {
  readonly method: 'jwt'
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  /** Oldest membership first; the one acted in is among them. */
  readonly workspaces: readonly Membership[]
}
