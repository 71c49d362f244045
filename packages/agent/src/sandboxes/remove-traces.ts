import { rm } from 'node:fs/promises'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { NO_SLOT } from './slots.ts'
import { releaseVolumes } from './sandbox-volumes.ts'

/** Everything a sandbox has on the host but its process, which must have ended. The folder goes last: it names the rest. */
export async function removeTraces(host: Host, sandbox: Sandbox): Promise<void> {
  await host.cgroups?.remove(sandbox.manifest.slot)
  // Whoever still writes into the folder keeps it from being removed.
  await sandbox.log.close()
  await sandbox.events.close()
  await rm(host.dir.sandbox(sandbox.id), { recursive: true, force: true })
  releaseVolumes(host, sandbox)
  host.slots.release(sandbox.manifest.slot)
  host.slots.releaseParked(sandbox.manifest.home_slot ?? NO_SLOT, sandbox.id)
  host.events.forget(sandbox.id)
  host.sandboxes.delete(sandbox.id)
}
