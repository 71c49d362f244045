import type { Cgroups } from '../../machine/host/cgroups.ts'
import { childrenOf } from '../../machine/host/find-vm-processes.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'
import { openAfter } from './open-after.ts'

/**
 * Puts a VM without a jail under its memory and process limits; one with a jail has been under them from its start.
 *
 * Not while it is being restored: to move a process, the kernel lets no process on the host start a thread until an RCU
 * grace period has passed (10 ms, cgroup_threadgroup_rwsem), and QEMU starts its threads just then.
 */
export function limitVm(host: Host, slot: number, vm: Vm): void {
  if (host.cgroups === null || vm.isJailed) return
  openAfter(host, vm, attach(host.cgroups, slot, vm), 'VM cannot be limited')
}

/** What makes images of its memory too, and with it the images: what they write is theirs to answer for. */
async function attach(cgroups: Cgroups, slot: number, { process }: Vm): Promise<void> {
  for (const pid of [process.pid, ...(await childrenOf(process))]) await cgroups.attach(slot, pid)
}
