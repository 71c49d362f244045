import { writeChain } from '../../store/disks/chain-file.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { HostStore } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Records the layers of a sandbox's disk, and from now on each change before it happens. */
export async function recordDisk({ dir }: HostStore, { id, manifest }: Sandbox, vm: Vm): Promise<void> {
  if (vm.disk === null) return
  const note = (chain: DiskChain) => writeChain(dir.sandbox(id), chain, manifest.durable)
  await note(vm.disk)
  vm.isDurable = manifest.durable
  vm.recordDisk = note
}
