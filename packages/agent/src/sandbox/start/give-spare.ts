import type { Deadline } from '@offshoot/kit/deadline'
import { limitSpare } from './limit-vm.ts'
import type { Host } from '../model/host.ts'
import { adoptSpareFolder } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import type { Spare } from '../pool/spare.ts'

/**
 * Makes a spare guest that of a sandbox, whose slot it has. Its folder is the sandbox's from the moment on in which it has
 * the name, and is there with a manifest from the first: an agent killed before that ends a spare, one killed after it
 * removes a sandbox that is still `creating`.
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
  limitSpare(host, sandbox.manifest, vm)
  // At once: what the guest is told waits in its queue until its CPUs run.
  await Promise.all([vm.qmp.execute('cont', {}, deadline), greet(vm, deadline)])
}
