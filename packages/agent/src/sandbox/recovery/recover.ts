import { emptyFolder } from '../../store/data-dir/folders.ts'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { missingRecords } from '../../store/events/missing-records.ts'
import { SandboxEventFile, type LastRecord } from '../../store/events/sandbox-event-file.ts'
import { findVmProcesses, userOf, type VmProcess } from '../../machine/host/find-vm-processes.ts'
import { endUnmanaged, sandboxOf } from './end-unmanaged.ts'
import { endOrphanedSpares } from './end-orphaned-spares.ts'
import type { Host, HostStore } from '../model/host.ts'
import { readDeletedManifest, readFirstManifest, readManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { recoverSandbox, type Found, type RecoverMode } from './recover-sandbox.ts'
import { NO_SLOT, slotOfUid } from '../../machine/slots/slots.ts'
import { Semaphore } from '@offshoot/kit/semaphore'

/** Sandboxes that are recovered at the same time. */
const AT_ONCE = 16

/** Manifests that were read already, and have not changed since. */
type Manifests = ReadonlyMap<SandboxId, Manifest>

interface Taken {
  readonly manifest: Manifest | null
  /** Why it is the first manifest of the sandbox, and not the last. */
  readonly damage: Found['damage']
}

/**
 * Makes folders, log and running QEMU processes consistent at the agent's start. Nothing else may use them meanwhile.
 *
 * | folder      | QEMU | the agent                                                          |
 * |-------------|------|--------------------------------------------------------------------|
 * | running     | yes  | adopts VM and background commands (or records `vm.died`: failed)   |
 * | paused      | yes  | adopts the VM, still paused (or records `vm.died`: failed)         |
 * | both        | no   | records `recover.orphaned`: failed; hibernates a durable one, cold |
 * | both, durable, no lease | yes | ends QEMU; as without one                               |
 * | hibernated  | any  | keeps it; ends a QEMU of an unfinished hibernation or wake         |
 * | creating    | any  | deletes it: its create was never answered                          |
 * | deleting    | any  | deletes it, and records `sandbox.deleted` unless recorded          |
 * | failed      | any  | keeps it until it is deleted                                       |
 * | moved       | no   | deletes it: another host has it, or its arrival was cancelled      |
 * | manifest emptied by a power cut | no | follows the log: failed, or deleted as above     |
 * | no manifest | yes  | ends QEMU, records `recover.unmanaged`, quarantines the folder     |
 * | no manifest | no   | deletes an unfinished folder, quarantines any other                |
 * | unreadable manifest | any | keeps data, QEMU and slot                               |
 *
 * Removes what was arriving from other hosts and is not complete. Ends the spares of the warm pool: this agent does not know the demand for which they were made.
 */
export async function recover(host: Host, mode: RecoverMode, manifests: Manifests): Promise<void> {
  const processes = await endOrphanedSpares(host.store, await findVmProcesses(host.store.dir.root))
  const withVm = new Set(processes.map(({ folder }) => sandboxOf(host.store, folder)))
  const { known, damages, lastNumbers, lastRecords } = await loadFolders(host, manifests, withVm)
  host.store.events.forgetAllBut(new Set([...known.keys(), ...host.store.ledger.unreadable.idsOf('sandbox')]))
  for (const found of processes) {
    const id = sandboxOf(host.store, found.folder)
    if (id !== null && host.store.ledger.unreadable.has('sandbox', id)) {
      await reserveSlotOf(host, id, found.process)
      continue
    }
    if (id === null || !known.has(id)) await endUnmanaged(host, id, found)
  }
  const missing = await missingRecords(host.store.events, lastNumbers)
  // Hibernated sandboxes come last: they need no slot, and a running sandbox may have the one that they had.
  const inOrder = [...known].toSorted(([, a], [, b]) => Number(isHibernated(a)) - Number(isHibernated(b)))
  const processesOf = Map.groupBy(processes, ({ folder }) => sandboxOf(host.store, folder))
  await beside(inOrder, async ([id, manifest]) => {
    const own = processesOf.get(id) ?? []
    const records = missing.get(id) ?? []
    if (manifest === null) return settleUnrecorded(host, id, own)
    const last = records.length === 0 ? (lastRecords.get(id) ?? null) : null
    return recoverSandbox(host, mode, { manifest, records, last, processes: own, damage: damages.get(id) ?? null })
  })
  await host.platform.cgroups?.removeAllBut((slot) => host.platform.slots.isTaken(slot))
  await host.store.ledger.emptyTrash()
  await emptyFolder(host.store.dir.arrivals)
}

function isHibernated(manifest: Manifest | null): boolean {
  return manifest?.status === 'hibernated'
}

/** Concurrent, so that thousands of hibernated sandboxes do not delay the start. They do not depend on each other. */
async function beside<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const semaphore = new Semaphore(AT_ONCE, items.length)
  await Promise.all(items.map((item) => semaphore.run(() => work(item))))
}

/** Also what number each sandbox's own file of events has come to, and the last events of those that hibernate. */
async function loadFolders(host: Host, manifests: Manifests, withVm: ReadonlySet<SandboxId | null>) {
  const known = new Map<SandboxId, Manifest | null>()
  const damages = new Map<SandboxId, Found['damage']>()
  const lastNumbers = new Map<SandboxId, number>()
  const lastRecords = new Map<SandboxId, LastRecord>()
  await beside(await host.store.dir.listSandboxes(), async (name) => {
    const id = parseSandboxId(name)
    if (id === null) {
      host.log.warn({ name }, 'no sandbox: left alone')
      return
    }
    const read = manifests.get(id)
    const { manifest, damage } = read ? { manifest: read, damage: null } : await takeManifest(host, id, withVm.has(id))
    if (host.store.ledger.unreadable.has('sandbox', id)) return
    known.set(id, manifest)
    if (damage !== null) damages.set(id, damage)
    const lastOfSleeper = isHibernated(manifest) ? new SandboxEventFile(host.store.dir.sandbox(id)).readLast() : null
    if (lastOfSleeper !== null) lastRecords.set(id, lastOfSleeper)
    lastNumbers.set(id, await loadPosition(host.store, id, lastOfSleeper))
  })
  return { known, damages, lastNumbers, lastRecords }
}

/** @returns no manifest when there is none, and when none can be read: then it is among the unreadable records */
async function takeManifest(host: Host, id: SandboxId, hasVm: boolean): Promise<Taken> {
  const folder = host.store.dir.sandbox(id)
  const read = readManifest(folder)
  if (read.state === 'absent') return { manifest: readDeletedManifest(folder), damage: null }
  if (read.state === 'unreadable' && !hasVm) {
    const first = firstManifest(host, id)
    host.store.ledger.unreadable.forget('sandbox', id)
    // Another sandbox may have its slot by now.
    if (first !== null && first !== 'unfinished') return { manifest: { ...first, slot: NO_SLOT }, damage: read }
    await loadPosition(host.store, id)
    const logged = host.store.events.position(id)?.type
    if (logged === 'sandbox.deleted' || (logged === undefined && first === 'unfinished')) {
      await host.store.ledger.discard('sandbox', folder, 'it was deleted, or never announced, as the log says')
      return { manifest: null, damage: null }
    }
  }
  return { manifest: host.store.ledger.unreadable.take('sandbox', id, read), damage: null }
}

function firstManifest(host: Host, id: SandboxId): ReturnType<typeof readFirstManifest> {
  try {
    return readFirstManifest(host.store.dir.sandbox(id))
  } catch (error) {
    host.log.error({ err: error, sandbox_id: id }, 'first manifest cannot be read')
    return null
  }
}

/** Tells the log where a sandbox's own file of events ends. @returns the number of its last event, 0 when there is none */
async function loadPosition(store: HostStore, id: SandboxId, known: LastRecord | null = null): Promise<number> {
  const last = known?.record ?? (await new SandboxEventFile(store.dir.sandbox(id)).load()).at(-1)
  if (!last) return 0
  const { seq, number, event } = last
  store.events.restorePosition(id, { seq, number, type: event.type, ts: event.ts })
  return number
}

/** Its manifest, which names the slot, is unreadable. The QEMU's user id determines the same slot. */
async function reserveSlotOf(host: Host, id: SandboxId, process: VmProcess['process']): Promise<void> {
  const slot = slotOfUid(await userOf(process))
  if (slot !== null) host.platform.slots.reserve(slot)
  host.log.error(
    { sandbox_id: id, pid: process.pid, slot },
    'QEMU of a sandbox with an unreadable record: left running',
  )
}

async function settleUnrecorded(host: Host, id: SandboxId, processes: readonly VmProcess[]): Promise<void> {
  for (const found of processes) await endUnmanaged(host, id, found)
  await host.store.ledger.settleUnrecorded('sandbox', id, host.store.dir.sandbox(id))
}

/**
 * Takes over the sandbox of a folder that this agent does not have in memory: its record was repaired, or it came back from
 * quarantine. The ledger decides about a folder without a record.
 * @returns whether the agent has the sandbox now
 */
export async function readoptSandbox(host: Host, id: SandboxId): Promise<boolean> {
  if (host.sandboxes.has(id)) return true
  const folder = host.store.dir.sandbox(id)
  const read = readManifest(folder)
  const manifest = host.store.ledger.unreadable.take('sandbox', id, read)
  if (manifest === null) {
    if (read.state === 'absent') await host.store.ledger.settleUnrecorded('sandbox', id, folder)
    return false
  }
  const lastNumber = await loadPosition(host.store, id)
  const missing = await missingRecords(host.store.events, new Map([[id, lastNumber]]))
  const processes = (await findVmProcesses(host.store.dir.root)).filter(
    (each) => sandboxOf(host.store, each.folder) === id,
  )
  const records = missing.get(id) ?? []
  const isSlotHeld = processes.length > 0 && isHeldFor(host, manifest)
  await recoverSandbox(host, 'adopt', { manifest, records, last: null, processes, damage: null, isSlotHeld })
  return true
}

/** Whether the slot of a manifest is reserved and belongs to no sandbox: then it was reserved for a QEMU that was left running. */
function isHeldFor({ sandboxes, platform: { slots } }: Host, { slot }: Manifest): boolean {
  return slots.isTaken(slot) && [...sandboxes.values()].every(({ manifest }) => manifest.slot !== slot)
}
