import { traceStep } from '@offshoot/kit/otlp/telemetry'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { releaseVolumes } from '../volumes/sandbox-volumes.ts'

/** Removes everything that a sandbox has on the host, after its process has ended. */
export async function removeTraces(
  host: Host,
  sandbox: Sandbox,
  reason = 'it was deleted, or its create never succeeded',
): Promise<void> {
  const discard = (folder: string) => host.store.ledger.discardInBackground('sandbox', folder, reason)
  await traceStep('removal of traces', () => forget(host, sandbox, discard))
}

/** The same, but its folder goes to quarantine. */
export async function setAside(host: Host, sandbox: Sandbox, reason: string): Promise<void> {
  await forget(host, sandbox, (folder) => host.store.ledger.setAside('sandbox', sandbox.id, folder, reason))
}

async function forget(host: Host, sandbox: Sandbox, remove: (folder: string) => Promise<void>): Promise<void> {
  await Promise.all([
    host.platform.cgroups?.remove(sandbox.manifest.slot),
    // Open files would prevent the removal of the folder.
    sandbox.log.close(),
    sandbox.events.close(),
    host.usage.forget(sandbox),
  ])
  await remove(host.store.dir.sandbox(sandbox.id))
  releaseVolumes(host.store, sandbox)
  host.platform.slots.release(sandbox.manifest.slot)
  host.platform.slots.releaseParked(sandbox.manifest.home_slot ?? NO_SLOT, sandbox.id)
  host.store.events.forget(sandbox.id)
  host.sandboxes.delete(sandbox.id)
}
