import { removeArtifact, type ArtifactSubject } from './artifact-calls.ts'
import type { Fleet } from './fleet.ts'

/** Removes an artifact whose row is gone from these hosts. What does not answer is told by the reconciliation. */
export async function removeFromHosts(
  { fleet }: { readonly fleet: Fleet },
  hosts: readonly { readonly agent_id: string }[],
  subject: ArtifactSubject,
): Promise<void> {
  for (const { agent_id: id } of hosts) {
    const host = fleet.byId(id)
    if (host?.isReachable === true) await removeArtifact(host.client, subject).catch(() => undefined)
  }
}
