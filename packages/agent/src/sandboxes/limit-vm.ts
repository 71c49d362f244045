import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../vm/vm.ts'
import type { Host } from './host.ts'

/** Milliseconds for a killed QEMU to be gone. */
const KILL_MS = 10_000

/**
 * Puts a VM under its memory and process limits. The guest's channel opens to users when that is done; a VM that cannot
 * be limited is ended.
 *
 * Not while it is being restored: to move a process, the kernel lets no process on the host start a thread until an RCU
 * grace period has passed (10 ms, cgroup_threadgroup_rwsem), and QEMU starts its threads just then.
 */
export function limitVm(host: Host, slot: number, vm: Vm): void {
  if (host.cgroups === null) return
  vm.limits = host.cgroups.attach(slot, vm.process.pid).catch(async (error: unknown) => {
    if (vm.hasEnded) return
    host.log.error({ err: error, slot }, 'VM cannot be limited')
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM without limits'))
    throw error
  })
  vm.limits.then(
    () => (vm.limits = null),
    () => undefined,
  )
}
