import type { WorkspaceSummary } from '@offshoot/contract/identity'
import type { Membership } from '../../../platform/http/caller.ts'

/** The public view of a workspace, for its members. */
export function presentWorkspace({ id, slug, name, role, plan }: Membership): WorkspaceSummary {
  return { id, slug, name, role, plan }
}
