import type { WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceSummary } from '@offshoot/contract/identity'

/** Who a request speaks for, once its credential has been checked. */
export type Caller =
  | { readonly method: 'key'; readonly workspaceId: WorkspaceId; readonly prefix: string }
  | {
      readonly method: 'jwt'
      readonly workspaceId: WorkspaceId
      readonly user: { readonly id: string; readonly email: string; readonly name: string }
      /** Oldest membership first; the one acted in is among them. */
      readonly workspaces: readonly (WorkspaceSummary & { readonly id: WorkspaceId })[]
    }
