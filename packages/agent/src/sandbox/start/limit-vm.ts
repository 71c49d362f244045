import { NO_LIMITS } from '@offshoot/contract/sandbox-limits'
import { Deadline } from '@offshoot/kit/deadline'
import { throttleDisks } from '../../machine/disks/throttle.ts'
import type { CgroupLimits } from '../../machine/host/cgroup-hierarchies.ts'
import { childrenOf } from '../../machine/host/find-vm-processes.ts'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import type { Host, HostPlatform } from '../model/host.ts'
import { openAfter } from './open-after.ts'

/** QEMU's own threads: main, vCPUs, worker threads of block devices (at most 64). */
const MAX_PROCESSES = 128
/** Percent of a CPU that QEMU may use for a guest's devices, beside its vCPUs. */
const DEVICES_PERCENT = 100
/** Milliseconds for QEMU to take the limits of its disks. */
const THROTTLE_MS = 30_000

/** What the limits of a VM depend on. */
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
 * Puts a VM that has just been started under the limits of its sandbox; one with a jail has been in its control group from
 * its start. The guest's channel opens to users when that is done.
 *
 * A process is not moved while it is being restored: for a move the kernel lets no process on the host start a thread until
 * an RCU grace period has passed (10 ms, cgroup_threadgroup_rwsem), and QEMU starts its threads just then.
 */
export function limitVm(host: Host, place: LimitedPlace, vm: Vm): void {
  const limited = attach(host.platform, place, vm).then(() => changeLimits(host.platform, place, vm))
  openAfter(host, vm, limited, 'VM cannot be limited')
}

/** The same for a spare guest, which is in its control group, and not yet under the limits of its sandbox. */
export function limitSpare(host: Host, place: LimitedPlace, vm: Vm): void {
  openAfter(host, vm, changeLimits(host.platform, place, vm), 'VM cannot be limited')
}

/**
 * And for a VM that an earlier agent has left: that agent may have been killed before it came to this, or have known fewer
 * limits. The VM is kept, whatever fails.
 */
export function limitAdoptedVm(host: Host, place: LimitedPlace, vm: Vm): void {
  const adopted = async () => {
    await host.platform.cgroups?.adopt(place.slot, cgroupLimits(place), await processesOf(vm))
    await attach(host.platform, place, vm)
    await limitRates(host.platform, place, vm)
  }
  adopted().catch((error: unknown) => host.log.error({ err: error, folder: vm.folder }, 'adopted VM cannot be limited'))
}

/** Puts a VM that runs under other limits. */
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

/** What makes images of its memory too, and with it the images: what they write is theirs to answer for. */
async function processesOf({ process }: Vm): Promise<number[]> {
  return [process.pid, ...(await childrenOf(process))]
}
