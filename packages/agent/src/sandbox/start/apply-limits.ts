import { NO_LIMITS } from '@offshoot/contract/sandbox-limits'
import { Deadline } from '@offshoot/kit/deadline'
import { throttleDisks } from '../../machine/disks/throttle.ts'
import type { CgroupLimits } from '../../machine/host/cgroup-hierarchies.ts'
import { childrenOf } from '../../machine/host/find-vm-processes.ts'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import type { Host, HostPlatform } from '../model/host.ts'
import { openChannelAfter } from './open-channel-after.ts'

/** QEMU's own threads: main, vCPUs, worker threads of block devices (at most 64). */
const MAX_PROCESSES = 128
/** Percent of a CPU that QEMU may use for a guest's devices, beside its vCPUs. */
const DEVICES_PERCENT = 100
/** Milliseconds for QEMU to take the limits of its disks. */
const THROTTLE_MS = 30_000

/** The values that determine a VM's limits. */
export type LimitedPlace = Pick<Manifest, 'slot' | 'cpu' | 'memory_mb' | 'limits'>

export function cgroupLimits({ cpu, memory_mb, limits }: Omit<LimitedPlace, 'slot'>): CgroupLimits {
  const { cpu_weight: weight, cpu_percent: percent } = limits ?? NO_LIMITS
  return {
    memoryMib: vmLimitMib(memory_mb),
    processes: MAX_PROCESSES,
    cpu: { weight: weight * cpu, percent: percent === null ? null : percent * cpu + DEVICES_PERCENT },
  }
}

/**
 * Applies the sandbox's limits to a VM that was just started. In a jail, the VM was in its control group from the start.
 * Users can reach the guest afterwards.
 *
 * The process must not be moved during its restore: for a move, the kernel stops all processes on the host from creating
 * threads until an RCU grace period has passed (10 ms, cgroup_threadgroup_rwsem), and QEMU creates its threads at that
 * time.
 */
export function applyLimits(host: Host, place: LimitedPlace, vm: Vm): void {
  const done = attach(host.platform, place, vm).then(() => changeLimits(host.platform, place, vm))
  openChannelAfter(host, vm, { done, failure: 'limits of a VM cannot be applied' })
}

/** Applies the sandbox's limits to a spare, which is in its control group already. */
export function applyLimitsToSpare(host: Host, place: LimitedPlace, vm: Vm): void {
  openChannelAfter(host, vm, {
    done: changeLimits(host.platform, place, vm),
    failure: 'limits of a VM cannot be applied',
  })
}

/**
 * Applies the limits to an adopted VM. The earlier agent may have been killed before it applied them, or may have known
 * fewer limits. The VM is kept even if this fails.
 */
export function applyLimitsToAdopted(host: Host, place: LimitedPlace, vm: Vm): void {
  const adopted = async () => {
    await host.platform.cgroups?.adopt(place.slot, cgroupLimits(place), await processesOf(vm))
    await attach(host.platform, place, vm)
    await limitRates(host.platform, place, vm)
  }
  adopted().catch((error: unknown) =>
    host.log.error({ err: error, folder: vm.folder }, 'limits of an adopted VM cannot be applied'),
  )
}

/** Changes the limits of a running VM. */
export async function changeLimits(platform: HostPlatform, place: LimitedPlace, vm: Vm): Promise<void> {
  await Promise.all([platform.cgroups?.setCpu(place.slot, cgroupLimits(place)), limitRates(platform, place, vm)])
}

async function limitRates({ network }: HostPlatform, { slot, limits }: LimitedPlace, vm: Vm): Promise<void> {
  const rates = limits ?? NO_LIMITS
  await Promise.all([
    network?.limit(slot, rates.network_mbit),
    throttleDisks(vm, rates, Deadline.after(THROTTLE_MS, 'limits of disks')),
  ])
}

async function attach({ cgroups }: HostPlatform, { slot }: LimitedPlace, vm: Vm): Promise<void> {
  if (cgroups === null || vm.isJailed) return
  for (const pid of await processesOf(vm)) await cgroups.attach(slot, pid)
}

/** QEMU, and the child processes that write images of its memory: their I/O counts against the same limits. */
async function processesOf({ process }: Vm): Promise<number[]> {
  return [process.pid, ...(await childrenOf(process))]
}
