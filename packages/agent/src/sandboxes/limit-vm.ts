import type { Vm } from '../vm/vm.ts'
import type { Host } from './host.ts'
import { openAfter } from './open-after.ts'

/**
 * Puts a VM under its memory and process limits.
 *
 * Not while it is being restored: to move a process, the kernel lets no process on the host start a thread until an RCU
 * grace period has passed (10 ms, cgroup_threadgroup_rwsem), and QEMU starts its threads just then.
 */
export function limitVm(host: Host, slot: number, vm: Vm): void {
  if (host.cgroups === null) return
  openAfter(host, vm, host.cgroups.attach(slot, vm.process.pid), 'VM cannot be limited')
}
