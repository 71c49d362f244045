import type { WorkspaceSummary } from '@offshoot/contract/identity'
import type { Membership } from '../../../platform/http/caller.ts'

/** What callers see of a workspace that they are in. */
export function presentWorkspace({ id, slug, name, role, plan }: Membership): WorkspaceSummary {
  return { id, slug, name, role, plan }
}
