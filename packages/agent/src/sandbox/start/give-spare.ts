import type { Deadline } from '@offshoot/kit/deadline'
import { applyLimitsToSpare } from './apply-limits.ts'
import type { Host } from '../model/host.ts'
import { adoptSpareFolder } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { continueGreeted, type Greet } from '../../machine/restore/restore.ts'
import type { Spare } from '../pool/spare.ts'

/**
 * Gives a spare to a sandbox, which already has the spare's slot. The folder is renamed with a manifest in it. So an agent
 * that is killed before the rename ends a spare at its next start, and one that is killed after it removes a sandbox that
 * is still `creating`.
 */
export async function giveSpare(
  host: Host,
  sandbox: Sandbox,
  { folder, vm }: Spare,
  greet: Greet,
  deadline: Deadline,
): Promise<void> {
  sandbox.firstManifest = await adoptSpareFolder(folder, host.store.dir.sandbox(sandbox.id), sandbox.manifest)
  vm.moved(host.store.dir.vm(sandbox.id))
  applyLimitsToSpare(host, sandbox.manifest, vm)
  await continueGreeted(vm, greet, deadline)
}
