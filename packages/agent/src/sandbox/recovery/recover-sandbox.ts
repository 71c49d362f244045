import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import { readChain } from '../../store/disks/chain-file.ts'
import { type DiskChain, trustedChain } from '../../store/disks/disk-chain.ts'
import type { RecordRead } from '../../store/ledger/read-record.ts'
import type { LastRecord } from '../../store/events/sandbox-event-file.ts'
import { endVmProcesses } from '../../machine/host/end-vm-processes.ts'
import { leaseFileOf, type VmProcess } from '../../machine/host/find-vm-processes.ts'
import { Vm } from '../../machine/vm/vm.ts'
import { Activity } from '../model/activity.ts'
import { readIdleMs } from '../../store/sandboxes/activity-file.ts'
import { announceState, mayHibernate } from '../events/announce-state.ts'
import { finishRemoval } from '../lifecycle/delete.ts'
import { announce, type Host, type HostStore } from '../model/host.ts'
import { keepDisk } from '../lifecycle/keep-disk.ts'
import { applyLimitsToAdopted } from '../start/apply-limits.ts'
import { writeManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { removeHibernation, removeMemoryBase } from '../lifecycle/old-checkpoints.ts'
import { recordDisk } from '../lifecycle/record-disk.ts'
import { removeTraces } from '../lifecycle/remove-traces.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { Sandbox } from '../model/sandbox.ts'
import { keepVolumes, releaseVolumes } from '../volumes/sandbox-volumes.ts'
import { settleVm } from './settle-vm.ts'
import { announceDeath, watchVm } from '../lifecycle/watch-vm.ts'

/** `adopt`: the agent takes over running VMs. `end`: it ends every VM, and leaves nothing running. */
export type RecoverMode = 'adopt' | 'end'

/** Milliseconds for a monitor to answer. Generous, because the agent ends a VM that does not answer. */
const ADOPT_MS = 60_000

/** The remains of a sandbox that the agent finds at its start. */
export interface Found {
  readonly manifest: Manifest
  /** Records of the agent's log that the sandbox's own file lacks. */
  readonly records: readonly AgentRecord[]
  /** The last event of a hibernated sandbox whose own file lacks none; `null`: the agent must read all its events. */
  readonly last: LastRecord | null
  readonly processes: readonly VmProcess[]
  /** Why `manifest` is the first one of the sandbox: a later one was written, and is empty. */
  readonly damage: RecordRead<Manifest> | null
  /** Its slot is reserved for its QEMU already, which was left running while the record could not be read. */
  readonly isSlotHeld?: boolean
}

/** See the table of `recover`. */
export async function recoverSandbox(host: Host, mode: RecoverMode, found: Found): Promise<void> {
  const { processes } = found
  const { manifest, hasSlot } = placeOf(host, found)
  if (mode === 'adopt' && !(await isDiskKnown(host.store, found))) return
  const sandbox = new Sandbox(manifest, host)
  const isAnnouncedHibernated =
    found.last !== null && found.processes.length === 0 && found.last.record.event.type === 'sandbox.hibernated'
  if (isAnnouncedHibernated && found.last !== null) sandbox.events.resume(found.last)
  else await sandbox.events.load(found.records)
  if (found.damage !== null && !isLostToPowerCut(host, sandbox, found.damage)) return sandbox.events.close()
  host.sandboxes.set(sandbox.id, sandbox)
  const logged = host.store.events.position(sandbox.id)?.type
  if (manifest.status === 'deleting' || logged === 'sandbox.deleted') {
    await endVmProcesses(processes)
    return finishRemoval(host, sandbox)
  }
  // If the log has announced the sandbox, believe the log: a power cut may have left an older manifest.
  if (manifest.status === 'creating' && logged === undefined) {
    await endVmProcesses(processes)
    return removeTraces(host, sandbox)
  }
  const folder = host.store.dir.sandbox(sandbox.id)
  sandbox.activity = new Activity(readIdleMs(folder))
  if (manifest.status !== 'failed') keepVolumes(host.store, sandbox)
  if (isAnnouncedHibernated) return
  if (manifest.status === 'hibernated') return keepHibernated(host, sandbox, processes)
  const own = processes.find(({ process }) => isSame(process, manifest.qemu))
  await endVmProcesses(processes.filter((other) => other !== own))
  if (manifest.status === 'failed') return endVmProcesses(processes)
  // A stopped QEMU would not answer. Its disk is complete, so the sandbox boots from it when there is a lease again.
  const mayRun = !manifest.durable || host.store.lease.isHeld
  if (own && mode === 'adopt' && hasSlot && mayRun && (await adopt(host, sandbox, own))) {
    // Remains of an interrupted or a finished hibernation. The reconciliation retries.
    return removeHibernation(host, sandbox)
  }
  await endVmProcesses(processes)
  await fail(host, sandbox, own && mode === 'end' ? 'ended' : 'vanished')
}

/**
 * Whether a power cut may have emptied the manifest of a sandbox that has no VM. The log, which was synced, decides what becomes of the
 * sandbox: it has failed with its VM, was deleted, or was never announced. The manifest of a hibernated sandbox was synced, so that
 * something else has damaged it.
 */
function isLostToPowerCut(host: Host, sandbox: Sandbox, damage: RecordRead<Manifest>): boolean {
  const isLost = host.store.events.position(sandbox.id)?.type === 'sandbox.deleted' || !mayHibernate(sandbox)
  if (isLost) host.log.warn({ sandbox_id: sandbox.id }, 'manifest is empty: the log tells what became of the sandbox')
  else host.store.ledger.unreadable.take('sandbox', sandbox.id, damage)
  return isLost
}

/**
 * Whether the disk of a VM that may be adopted is known. When the note of the disk cannot be read, the agent may not believe what QEMU
 * says, and ending the VM would lose its memory. So the VM is left running, as one whose manifest cannot be read.
 */
async function isDiskKnown({ dir, ledger }: HostStore, { manifest, processes }: Found): Promise<boolean> {
  const isLive = manifest.status === 'running' || manifest.status === 'paused'
  if (!isLive || !processes.some(({ process }) => isSame(process, manifest.qemu))) return true
  const noted = await readChain(dir.sandbox(manifest.id as SandboxId))
  if (noted.state !== 'unreadable') return true
  ledger.unreadable.take('sandbox', manifest.id, noted)
  return false
}

/** A hibernated sandbox needs no slot; where the one that it had is still free, it is kept for it as long as may be. */
function placeOf(host: Host, { manifest, isSlotHeld = false }: Found): { manifest: Manifest; hasSlot: boolean } {
  const { id, slot, home_slot: home = slot } = manifest
  if (manifest.status === 'hibernated') {
    if (isSlotHeld || host.platform.slots.reserve(home)) host.platform.slots.park(home, id as SandboxId)
    return { manifest: { ...manifest, slot: NO_SLOT, home_slot: home }, hasSlot: false }
  }
  if (isSlotHeld || host.platform.slots.reserve(slot)) return { manifest, hasSlot: true }
  host.log.warn({ sandbox_id: id }, 'slot lost while no agent ran')
  return { manifest: { ...manifest, slot: NO_SLOT }, hasSlot: false }
}

/** Ends a QEMU that still runs: its hibernation was about to end it, or it belongs to a wake without an answer. */
async function keepHibernated(host: Host, sandbox: Sandbox, processes: readonly VmProcess[]): Promise<void> {
  if (processes.length > 0) {
    await removeMemoryBase(host, sandbox)
    await endVmProcesses(processes)
    await host.platform.cgroups?.remove(sandbox.manifest.home_slot ?? NO_SLOT)
  }
  await announceState(host.store, sandbox)
}

async function adopt(host: Host, sandbox: Sandbox, { process, launcher }: VmProcess): Promise<boolean> {
  const { manifest } = sandbox
  const deadline = Deadline.after(ADOPT_MS, `adoption of ${sandbox.id}`)
  try {
    const vm = await Vm.adopt(host.store.dir.vm(sandbox.id), process, deadline)
    vm.obeysLease = launcher !== null && (await leaseFileOf(launcher)) === host.store.lease.file
    vm.disk = await knownChain(host.store, sandbox, vm.disk)
    sandbox.manifest = { ...manifest, qemu_version: manifest.qemu_version ?? vm.qmp.qemuVersion }
    await settleVm(host, sandbox, vm, deadline)
    await announceState(host.store, sandbox)
    sandbox.vm = vm
    await recordDisk(host.store, sandbox, vm)
    applyLimitsToAdopted(host, manifest, vm)
    watchVm(host, sandbox, vm)
    host.log.info({ sandbox_id: sandbox.id, pid: process.pid }, 'VM adopted')
    return true
  } catch (error) {
    host.log.error({ err: error, sandbox_id: sandbox.id }, 'VM cannot be adopted')
    return false
  }
}

/** @throws Error if QEMU reports layers that were not recorded */
async function knownChain(store: HostStore, { id }: Sandbox, reported: DiskChain | null): Promise<DiskChain | null> {
  const noted = await readChain(store.dir.sandbox(id))
  if (noted.state === 'unreadable') throw new Error('the note of its disk cannot be read', { cause: noted.error })
  // An earlier version of the agent noted the disks of durable sandboxes only.
  if (reported === null || noted.state === 'absent') return reported
  const trusted = trustedChain(noted.record, reported)
  if (trusted === null) throw new Error('QEMU names layers that are not those of the sandbox')
  return trusted
}

async function fail(host: Host, sandbox: Sandbox, why: 'ended' | 'vanished'): Promise<void> {
  const disk = await keepDisk(host, sandbox, () => announceLoss(host.store, sandbox, why))
  if (disk === 'kept') return
  sandbox.manifest = { ...sandbox.manifest, status: 'failed', qemu: null }
  releaseVolumes(host.store, sandbox)
  await announceLoss(host.store, sandbox, why)
  if (disk === 'none') await writeManifest(host.store.dir.sandbox(sandbox.id), sandbox.manifest)
  await host.platform.cgroups?.remove(sandbox.manifest.slot)
}

async function announceLoss(store: HostStore, sandbox: Sandbox, why: 'ended' | 'vanished'): Promise<void> {
  if (store.events.position(sandbox.id)?.type === 'vm.died') return
  if (why === 'ended') return announceDeath(store, sandbox, null, 'SIGKILL')
  const message = 'the VM was gone when its agent started'
  await announce(store, sandbox, { type: 'recover.orphaned', message, metadata: {} })
}

function isSame(process: ProcessIdentity, noted: ProcessIdentity | null): boolean {
  return noted !== null && process.pid === noted.pid && process.startTicks === noted.startTicks
}
