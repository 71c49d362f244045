import { removeTree } from '../../store/data-dir/folders.ts'
import { Deadline } from '@offshoot/kit/deadline'
import { ApiError } from '@offshoot/contract/errors'
import { guestIdentity } from '../../machine/guest/guest-identity.ts'
import { CheckpointDamaged, CheckpointIncompatible } from '../../store/checkpoints/checkpoint-errors.ts'
import { releaseGuest } from '../../machine/guest/hold.ts'
import { QemuEnded } from '../../machine/vm/launch.ts'
import { continueGreeted, type Greet } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { wokenDraft } from '../events/announce-state.ts'
import { adoptAllBackground } from '../commands/background-watch.ts'
import { bootFromDisk } from '../start/boot-from-disk.ts'
import { bootVm, type BootFrom } from '../start/boot-vm.ts'
import { commitChange } from '../model/commit-change.ts'
import { keepMapped } from '../model/kept-memory.ts'
import type { Host, HostPlatform } from '../model/host.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { recordDisk } from './record-disk.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox, Wake } from '../model/sandbox.ts'
import { writesVolumes } from '../volumes/sandbox-volumes.ts'
import { networkIdentity } from '../start/slot-network.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { requireVm } from '../model/stopping.ts'
import { watchVm } from './watch-vm.ts'

const RESTORE_MS = 30_000
/** Milliseconds for a boot, including the template's start and ready commands. */
const BOOT_MS = 90_000
const KILL_MS = 10_000
/** Milliseconds for the answer of a guest that did not answer the first time. */
const ASK_AGAIN_MS = 5000

/**
 * Wakes a hibernated sandbox. Concurrent callers share one wake, which continues if a caller leaves. No effect on a running
 * sandbox. If the wake fails, the sandbox stays hibernated and complete.
 * @throws ApiError 404, 409 paused, 507 not enough memory
 */
export function wakeSandbox(host: Host, sandbox: Sandbox): Promise<Wake> {
  sandbox.waking ??= sandbox
    .change((cancelled) => wake(host, sandbox, cancelled))
    .finally(() => (sandbox.waking = undefined))
  return sandbox.waking
}

async function wake(host: Host, sandbox: Sandbox, cancelled: AbortSignal): Promise<Wake> {
  const startedAt = performance.now()
  if (sandbox.manifest.status !== 'hibernated') {
    requireVm(sandbox, 'running')
    return { isCold: false }
  }
  host.store.credit.refuseIfSpent(sandbox.workspaceId)
  try {
    // A running sandbox needs its events in memory: its open ports, and whether its SSH server has answered.
    await sandbox.events.recall()
    const release = await host.gates.admission.admit(sandbox.manifest.memory_mb)
    try {
      const { isCold } = await host.gates.restores.run(async () => {
        const woken = await restoreHibernated(host, sandbox, startedAt, cancelled).catch(async (error: unknown) => {
          await forgetVm(host, sandbox)
          throw error
        })
        // The wake is committed. A later failure must not roll it back.
        try {
          if (woken.isWriting) await continueCommitted(host, sandbox, woken)
        } finally {
          await retireCheckpoint(host, sandbox, woken)
          const { vm, bases } = woken
          if (!woken.isCold) keepMapped(host, sandbox, vm, { folder: host.store.dir.memoryBase(sandbox.id), bases })
        }
        return woken
      }, cancelled)
      void adoptAllBackground([sandbox], host.log)
      return { isCold }
    } finally {
      release()
    }
  } catch (error) {
    throw await refusal(host, sandbox, 'sandbox could not be woken', error)
  }
}

/** A VM whose sandbox is recorded as running, in manifest and log. */
interface Woken extends Wake {
  readonly vm: Vm
  readonly greet: Greet
  /** Number of bases of the checkpoint. QEMU maps their memory. */
  readonly bases: number
  /** `true`: the guest writes to a volume, so its CPUs are stopped until the wake is committed. */
  readonly isWriting: boolean
  readonly deadline: Deadline
}

/** The part before the commit. If it fails, the sandbox is hibernated as before, and the caller removes `vm/`. */
async function restoreHibernated(
  host: Host,
  sandbox: Sandbox,
  startedAt: number,
  cancelled: AbortSignal,
): Promise<Woken> {
  const { id } = sandbox
  const guestIp = takeSlot(host.platform, sandbox)
  const { vm, ...started } = await startFromDisk(host, sandbox, guestIp, cancelled)
  sandbox.vm = vm
  try {
    await recordDisk(host.store, sandbox, vm)
    const manifest: Manifest = {
      ...sandbox.manifest,
      format: undefined,
      status: 'running',
      home_slot: undefined,
      cold: false,
      layers: [],
      guest_ip: guestIp,
      qemu: vm.process,
    }
    const { isCold, lost } = started
    const wokenMs = Math.round(performance.now() - startedAt)
    await commitChange(host, sandbox, manifest, wokenDraft({ wokenMs, guestIp, isCold, lost }))
  } catch (error) {
    sandbox.vm = null
    await vm.kill(Deadline.after(KILL_MS, `end of ${id}`))
    throw error
  }
  sandbox.activity.touch()
  watchVm(host, sandbox, vm)
  return { vm, ...started }
}

/** Starts the VM of a hibernated sandbox: restores its memory, or boots from its disk if no memory can be restored. */
async function startFromDisk(
  host: Host,
  sandbox: Sandbox,
  guestIp: string | null,
  cancelled: AbortSignal,
): Promise<Woken & { readonly lost: string | null }> {
  const { id } = sandbox
  if (!sandbox.manifest.cold) {
    const deadline = Deadline.after(RESTORE_MS, `wake of ${id}`, cancelled)
    try {
      return { ...(await restoreMemory(host, sandbox, guestIp, deadline)), isCold: false, lost: null }
    } catch (error) {
      const lost = reasonMemoryIsLost(error)
      if (lost === null) throw error
      host.log.error({ err: error, sandbox_id: id }, 'memory cannot be restored: the sandbox is booted from its disk')
      return await bootDisk(host, sandbox, lost, Deadline.after(BOOT_MS, `boot of ${id}`, cancelled))
    }
  }
  return bootDisk(host, sandbox, null, Deadline.after(BOOT_MS, `boot of ${id}`, cancelled))
}

async function restoreMemory(
  host: Host,
  sandbox: Sandbox,
  guestIp: string | null,
  deadline: Deadline,
): Promise<Omit<Woken, 'isCold'>> {
  const folder = host.store.dir.hibernation(sandbox.id)
  const greet = greetingOf(host.platform, sandbox, guestIp)
  const isWriting = writesVolumes(sandbox.manifest)
  const { layers, memory, qemuVersion } = await host.store.checkpoints.open(folder, host.platform.machines.of, deadline)
  sandbox.manifest = { ...sandbox.manifest, qemu_version: qemuVersion }
  const checkpoint = { folder, bases: memory.length - 1, layers: layers.map((layer) => layer.id) }
  const vm = await startVm(host, sandbox, { checkpoint, greet: isWriting ? null : greet }, deadline)
  return { vm, greet, bases: checkpoint.bases, isWriting, deadline }
}

/**
 * @param lost why the memory is lost; `null`: there was none
 * @throws CheckpointDamaged the disk is damaged as well; the sandbox is unchanged then
 */
async function bootDisk(host: Host, sandbox: Sandbox, lost: string | null, deadline: Deadline) {
  const { id, manifest } = sandbox
  if (lost !== null) await host.store.checkpoints.checkDisk(host.store.dir.hibernation(id), manifest.layers, deadline)
  sandbox.manifest = { ...manifest, qemu_version: host.platform.qemus.current.version }
  const from = await bootFromDisk(host, sandbox)
  const vm = await startVm(host, sandbox, from, deadline)
  return { vm, greet: releaseGuest, bases: 0, isWriting: false, deadline, isCold: true, lost }
}

async function startVm(
  host: Host,
  { id, manifest }: Sandbox,
  from: Omit<BootFrom, 'known'>,
  deadline: Deadline,
): Promise<Vm> {
  await removeTree(host.store.dir.vm(id))
  const place = { ...manifest, folder: host.store.dir.sandbox(id) }
  return bootVm(host, place, { ...from, known: manifest.devices }, deadline)
}

/** @returns why this host can never restore the memory; `null`: the wake failed for another reason, and may be retried */
function reasonMemoryIsLost(error: unknown): string | null {
  if (error instanceof CheckpointIncompatible || error instanceof CheckpointDamaged) return error.message
  if (error instanceof QemuEnded && /error while loading state|load of migration failed/.test(error.message))
    return 'QEMU cannot load its device state'
  return null
}

/**
 * Gives a hibernated sandbox the slot that it had, or another one if another sandbox has it.
 * @returns the guest's new address
 * @throws ApiError 507 no slot
 */
function takeSlot(platform: HostPlatform, sandbox: Sandbox): string | null {
  const { id, manifest } = sandbox
  if (manifest.slot === NO_SLOT) {
    const { home_slot: home = NO_SLOT } = manifest
    const slot = platform.slots.reclaim(home, id) ? home : platform.slots.take()
    if (slot === null) throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
    sandbox.manifest = { ...manifest, slot }
  }
  return platform.network?.addressOf(sandbox.manifest.slot).ip ?? manifest.guest_ip
}

/** At the same address, the guest just continues. At another one it gets the new network settings; its connections are lost. */
function greetingOf(platform: HostPlatform, { id, manifest }: Sandbox, guestIp: string | null): Greet {
  if (guestIp === manifest.guest_ip) return releaseGuest
  return async (vm, deadline) => {
    const link = await vm.link(deadline)
    await link.refresh(guestIdentity(id, 'keep', networkIdentity(platform, manifest.slot)), deadline).settled
  }
}

/**
 * A guest that writes to a volume may run only after the wake is committed: its old memory must never be restored after it
 * has written. If it does not answer, its VM is kept, and the reconciliation asks it again. The VM of a durable sandbox is
 * ended instead, and the sandbox boots from its disk (`watch-vm.ts`).
 */
async function continueCommitted(host: Host, { id, manifest }: Sandbox, { vm, greet, deadline }: Woken): Promise<void> {
  try {
    await continueGreeted(vm, greet, deadline)
  } catch (error) {
    host.log.error({ err: error, sandbox_id: id }, 'guest does not answer after its wake')
    if (manifest.durable) await vm.kill(Deadline.after(KILL_MS, `end of ${id}`))
    else unanswered.set(vm, greet)
    throw error
  }
}

/** VMs whose guests have not answered since their wake was committed, and the message that each must still get. */
const unanswered = new WeakMap<Vm, Greet>()

/** Asks a guest again that did not answer after its wake. Called by the reconciliation. */
export async function continueUnanswered(host: Host, { id, vm, manifest }: Sandbox): Promise<void> {
  const greet = vm === null || manifest.status !== 'running' ? undefined : unanswered.get(vm)
  if (vm === null || greet === undefined) return
  try {
    await continueGreeted(vm, greet, Deadline.after(ASK_AGAIN_MS, `answer of ${id}`))
    unanswered.delete(vm)
  } catch (error) {
    host.log.warn({ err: error, sandbox_id: id }, 'guest still does not answer after its wake')
  }
}

/**
 * Makes the checkpoint of a woken sandbox the base of its next one, or removes it if the sandbox was booted from its disk.
 * It must never be restored again, because the guest may have written to a volume since. The reconciliation retries a
 * failed removal.
 */
async function retireCheckpoint(
  { log, store: { checkpoints, dir } }: Host,
  { id }: Sandbox,
  { isCold }: Wake,
): Promise<void> {
  const checkpoint = dir.hibernation(id)
  const retiring = isCold ? checkpoints.remove(checkpoint) : checkpoints.bases.keep(checkpoint, dir.memoryBase(id))
  await retiring.catch((error: unknown) => log.error({ err: error, sandbox_id: id }, 'old checkpoint not removed'))
}

/** Removes the VM of a failed wake, with the layer that it wrote. */
async function forgetVm(host: Host, sandbox: Sandbox): Promise<void> {
  const { id, manifest } = sandbox
  const { slot, home_slot: home } = manifest
  await host.platform.cgroups?.remove(slot)
  await removeTree(host.store.dir.vm(id))
  sandbox.manifest = { ...manifest, slot: NO_SLOT }
  if (slot === home) host.platform.slots.park(slot, id)
  else host.platform.slots.release(slot)
}
