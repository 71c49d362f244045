import { writeChain } from '../../store/disks/chain-file.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** What the disk of a durable sandbox consists of is on the host's disk when this returns, and from now on before it changes. */
export async function noteDisk({ dir }: Host, { id, manifest }: Sandbox, vm: Vm): Promise<void> {
  if (!manifest.durable || vm.disk === null) return
  const folder = dir.sandbox(id)
  await writeChain(folder, vm.disk)
  vm.noteDisk = (chain) => writeChain(folder, chain)
}
