import { readdir, rm } from 'node:fs/promises'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { missingRecords } from '../events/missing-records.ts'
import { SandboxEventFile, type LastRecord } from '../events/sandbox-event-file.ts'
import { findVmProcesses, type VmProcess } from '../host/find-vm-processes.ts'
import { endUnmanaged, sandboxOf } from './end-unmanaged.ts'
import { endLeftSpares } from '../pool/end-left-spares.ts'
import type { Host } from './host.ts'
import { readManifest, type Manifest } from './manifest.ts'
import { recoverSandbox, type RecoverMode } from './recover-sandbox.ts'
import { Turns } from './turns.ts'

/** Sandboxes that are looked at at the same time. */
const AT_ONCE = 16

/** Those that have been read already; nobody has changed them since. */
type Manifests = ReadonlyMap<SandboxId, Manifest>

/**
 * Brings folders, log and live QEMU processes into agreement, at the start of an agent; nobody else may work on them.
 *
 * | folder      | QEMU | becomes                                                            |
 * |-------------|------|--------------------------------------------------------------------|
 * | running     | yes  | adopted: runs, its user processes too (or ended: failed, `vm.died`) |
 * | paused      | yes  | adopted: stands still (or ended: failed, `vm.died`)                |
 * | both        | no   | failed, `recover.orphaned`; a durable one is then hibernated, cold |
 * | hibernated  | any  | stays; its QEMU was ending, or belongs to a wake that was not answered for |
 * | creating    | any  | removed: nobody was answered                                       |
 * | deleting    | any  | removed: `sandbox.deleted` unless logged                           |
 * | failed      | any  | stays until it is deleted                                          |
 * | no manifest | yes  | removed, `recover.unmanaged`                                       |
 * | no manifest | no   | removed                                                            |
 *
 * Guests that waited for a sandbox are ended: the demand they were made for is forgotten.
 */
export async function recover(host: Host, mode: RecoverMode, manifests: Manifests): Promise<void> {
  const processes = await endLeftSpares(host, await findVmProcesses(host.dir.root))
  const { known, lastNumbers, lastRecords } = await loadFolders(host, manifests)
  host.events.forgetAllBut(new Set(known.keys()))
  for (const { process, folder } of processes) {
    const id = sandboxOf(host, folder)
    if (id === null || !known.has(id)) await endUnmanaged(host, id, process)
  }
  const missing = await missingRecords(host.events, lastNumbers)
  // Last those that need no slot: whoever runs has a slot that one of them may have had before.
  const inOrder = [...known].toSorted(([, a], [, b]) => Number(isHibernated(a)) - Number(isHibernated(b)))
  const processesOf = Map.groupBy(processes, ({ folder }) => sandboxOf(host, folder))
  await beside(inOrder, async ([id, manifest]) => {
    const own = processesOf.get(id) ?? []
    const records = missing.get(id) ?? []
    if (manifest === null) return removeUnfinished(host, id, own)
    const last = records.length === 0 ? (lastRecords.get(id) ?? null) : null
    return recoverSandbox(host, mode, { manifest, records, last, processes: own })
  })
  await host.cgroups?.removeAllBut((slot) => host.slots.isTaken(slot))
}

function isHibernated(manifest: Manifest | null): boolean {
  return manifest?.status === 'hibernated'
}

/** Thousands of hibernated sandboxes must not hold up a start: no one of them depends on another. */
async function beside<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const turns = new Turns(AT_ONCE, items.length)
  await Promise.all(items.map((item) => turns.run(() => work(item))))
}

/** Also what number each sandbox's own file of events has come to, and the last events of those that hibernate. */
async function loadFolders(host: Host, manifests: Manifests) {
  const known = new Map<SandboxId, Manifest | null>()
  const lastNumbers = new Map<SandboxId, number>()
  const lastRecords = new Map<SandboxId, LastRecord>()
  await beside(await readdir(host.dir.sandboxes), async (name) => {
    const id = parseSandboxId(name)
    if (id === null) {
      host.log.warn({ name }, 'no sandbox: left alone')
      return
    }
    const manifest = manifests.get(id) ?? (await readManifest(host.dir.sandbox(id)))
    known.set(id, manifest)
    const file = new SandboxEventFile(host.dir.sandbox(id))
    const lastOfSleeper = isHibernated(manifest) ? file.readLast() : null
    if (lastOfSleeper !== null) lastRecords.set(id, lastOfSleeper)
    const last = lastOfSleeper?.record ?? (await file.load()).at(-1)
    lastNumbers.set(id, last?.number ?? 0)
    if (!last) return
    const { seq, number, event } = last
    host.events.restorePosition(id, { seq, number, type: event.type, ts: event.ts })
  })
  return { known, lastNumbers, lastRecords }
}

async function removeUnfinished(host: Host, id: SandboxId, processes: readonly VmProcess[]): Promise<void> {
  for (const { process } of processes) await endUnmanaged(host, id, process)
  await rm(host.dir.sandbox(id), { recursive: true, force: true })
}
