import { rm } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { ApiError } from '@offshoot/contract/errors'
import { guestIdentity } from '../../machine/guest/guest-identity.ts'
import { releaseGuest } from '../../machine/guest/hold.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { wokenDraft } from '../events/announce-state.ts'
import { takeUpAllBackground } from '../commands/background-watch.ts'
import { bootFromDisk } from '../start/boot-from-disk.ts'
import { bootVm, type BootFrom } from '../start/boot-vm.ts'
import { commitChange } from '../model/commit-change.ts'
import type { Host } from '../model/host.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { noteDisk } from './note-disk.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { writesVolumes } from '../volumes/sandbox-volumes.ts'
import { networkIdentity } from '../start/slot-network.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { vmIn } from '../model/stopping.ts'
import { watchVm } from './watch-vm.ts'

const RESTORE_MS = 30_000
/** Milliseconds for a boot, and for what the template starts. */
const BOOT_MS = 90_000
const KILL_MS = 10_000

/**
 * Brings a hibernated sandbox back; all who ask at the same time share one wake, and none who leaves ends it for the
 * others. Nothing happens to one that runs. One that cannot be woken stays hibernated, whole.
 * @throws ApiError 404, 409 paused, 507 no memory for it
 */
export function wakeSandbox(host: Host, sandbox: Sandbox): Promise<void> {
  sandbox.waking ??= sandbox
    .change((cancelled) => wake(host, sandbox, cancelled))
    .finally(() => (sandbox.waking = undefined))
  return sandbox.waking
}

async function wake(host: Host, sandbox: Sandbox, cancelled: AbortSignal): Promise<void> {
  const startedAt = performance.now()
  if (sandbox.manifest.status !== 'hibernated') return void vmIn(sandbox, 'running')
  host.credit.refuseIfSpent(sandbox.workspaceId)
  try {
    const release = await host.gates.admission.admit(sandbox.manifest.memory_mb)
    try {
      await host.gates.restores.run(() => restoreHibernated(host, sandbox, startedAt, cancelled), cancelled)
    } catch (error) {
      await forgetVm(host, sandbox)
      throw error
    } finally {
      release()
    }
  } catch (error) {
    throw await refusal(host, sandbox, 'sandbox could not be woken', error)
  }
  void takeUpAllBackground([sandbox], host.log)
}

async function restoreHibernated(
  host: Host,
  sandbox: Sandbox,
  startedAt: number,
  cancelled: AbortSignal,
): Promise<void> {
  const { id } = sandbox
  const { cold } = sandbox.manifest
  const deadline = Deadline.after(cold ? BOOT_MS : RESTORE_MS, `wake of ${id}`, cancelled)
  const folder = host.dir.hibernation(id)
  const guestIp = placeAnew(host, sandbox)
  const greet = greetingOf(host, sandbox, guestIp)
  const isWriting = writesVolumes(sandbox.manifest) && !cold
  const from = cold
    ? await bootFromDisk(host, sandbox)
    : await restoreFrom(host, folder, isWriting ? null : greet, deadline)
  await rm(host.dir.vm(id), { recursive: true, force: true })
  const place = { ...sandbox.manifest, folder: host.dir.sandbox(id) }
  const vm = await bootVm(host, place, { ...from, known: sandbox.manifest.devices }, deadline)
  sandbox.vm = vm
  try {
    await noteDisk(host, sandbox, vm)
    const manifest: Manifest = {
      ...sandbox.manifest,
      status: 'running',
      cold: false,
      layers: [],
      guest_ip: guestIp,
      qemu: vm.process,
    }
    const wokenMs = Math.round(performance.now() - startedAt)
    await commitChange(host, sandbox, manifest, wokenDraft(wokenMs, guestIp))
  } catch (error) {
    sandbox.vm = null
    await vm.kill(Deadline.after(KILL_MS, `end of ${id}`))
    throw error
  }
  sandbox.activity.touch()
  watchVm(host, sandbox, vm)
  if (isWriting) await continueCommitted(vm, greet, deadline)
  // Only now: until here it could have been tried again. What is mapped of it stays until the VM ends.
  await host.checkpoints.remove(folder)
}

async function restoreFrom(
  host: Host,
  folder: string,
  greet: Greet | null,
  deadline: Deadline,
): Promise<Omit<BootFrom, 'known'>> {
  const { layers } = await host.checkpoints.open(folder, host.machines.of, deadline)
  return { checkpoint: { folder, layers: layers.map((layer) => layer.id) }, greet }
}

/**
 * A sandbox keeps its slot while it is hibernated, unless another agent of this host got it while ours did not run.
 * @returns the address it is to have
 * @throws ApiError 507 no slot
 */
function placeAnew(host: Host, sandbox: Sandbox): string | null {
  if (sandbox.manifest.slot === NO_SLOT) {
    const slot = host.slots.take()
    if (slot === null) throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
    sandbox.manifest = { ...sandbox.manifest, slot }
  }
  return host.network?.addressOf(sandbox.manifest.slot).ip ?? sandbox.manifest.guest_ip
}

/** Who comes back where he was goes on; at another address his connections could not. */
function greetingOf(host: Host, { id, manifest }: Sandbox, guestIp: string | null): Greet {
  if (guestIp === manifest.guest_ip) return releaseGuest
  return async (vm, deadline) => {
    const link = await vm.link(deadline)
    await link.refresh(guestIdentity(id, 'keep', networkIdentity(host, manifest.slot)), deadline).settled
  }
}

/**
 * A guest that writes to a volume runs only once there is no way back: its hibernation must not be restored over what it
 * has written since. When that fails its sandbox does.
 */
async function continueCommitted(vm: Vm, greet: Greet, deadline: Deadline): Promise<void> {
  try {
    await Promise.all([vm.qmp.execute('cont', {}, deadline), greet(vm, deadline)])
  } catch (error) {
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM that did not go on'))
    throw error
  }
}

/** What a wake that failed has begun; what it wrote to the disk goes with its layer. */
async function forgetVm(host: Host, sandbox: Sandbox): Promise<void> {
  await host.cgroups?.remove(sandbox.manifest.slot)
  await rm(host.dir.vm(sandbox.id), { recursive: true, force: true })
}
