import { readdir, rm } from 'node:fs/promises'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { signalProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { missingRecords } from '../events/missing-records.ts'
import { SandboxEventFile } from '../events/sandbox-event-file.ts'
import { findVmProcesses, type VmProcess } from '../host/find-vm-processes.ts'
import { Vm } from '../vm/vm.ts'
import { announceRunning } from './create.ts'
import { finishRemoval } from './delete.ts'
import { awaitEnd } from '../host/await-end.ts'
import { announce, type Host } from './host.ts'
import { limitVm } from './limit-vm.ts'
import { readManifest, writeManifest, type Manifest } from './manifest.ts'
import { removeTraces } from './remove-traces.ts'
import { Sandbox } from './sandbox.ts'
import { announceDeath, watchVm } from './watch-vm.ts'

/** `adopt`: running VMs are taken over. `end`: every VM is ended, for an agent that is to leave nothing running. */
export type RecoverMode = 'adopt' | 'end'

/** Milliseconds for a monitor to answer; generous, because a VM that does not is ended. */
const ADOPT_MS = 60_000
const KILL_MS = 10_000

/**
 * Brings folders, log and live QEMU processes into agreement, at the start of an agent; nobody else may work on them.
 *
 * | folder      | QEMU | becomes                                    |
 * |-------------|------|--------------------------------------------|
 * | running     | yes  | adopted (or ended: failed, `vm.died`)      |
 * | running     | no   | failed, `recover.orphaned`                 |
 * | creating    | any  | removed: nobody was answered               |
 * | deleting    | any  | removed: `sandbox.deleted` unless logged   |
 * | failed      | any  | stays until it is deleted                  |
 * | no manifest | yes  | removed, `recover.unmanaged`               |
 * | no manifest | no   | removed                                    |
 */
export async function recover(host: Host, mode: RecoverMode): Promise<void> {
  const processes = await findVmProcesses(host.dir.root)
  const { known, lastNumbers } = await loadFolders(host)
  host.events.forgetAllBut(new Set(known.keys()))
  for (const { process, folder } of processes) {
    const id = sandboxOf(host, folder)
    if (id === null || !known.has(id)) await endUnmanaged(host, id, process)
  }
  const missing = await missingRecords(host.events, lastNumbers)
  for (const [id, manifest] of known) {
    const own = processes.filter(({ folder }) => sandboxOf(host, folder) === id)
    if (manifest === null) await removeUnfinished(host, id, own)
    else await recoverFolder(host, mode, { manifest, records: missing.get(id) ?? [] }, own)
  }
}

/** Also what number each sandbox's own file of events has come to. */
async function loadFolders(host: Host) {
  const known = new Map<SandboxId, Manifest | null>()
  const lastNumbers = new Map<SandboxId, number>()
  for (const name of await readdir(host.dir.sandboxes)) {
    const id = parseSandboxId(name)
    if (id === null) {
      host.log.warn({ name }, 'no sandbox: left alone')
      continue
    }
    known.set(id, await readManifest(host.dir.sandbox(id)))
    const last = (await new SandboxEventFile(host.dir.sandbox(id)).load()).at(-1)
    lastNumbers.set(id, last?.number ?? 0)
    if (!last) continue
    const { seq, number, event } = last
    host.events.restorePosition(id, { seq, number, type: event.type, ts: event.ts })
  }
  return { known, lastNumbers }
}

async function removeUnfinished(host: Host, id: SandboxId, processes: readonly VmProcess[]): Promise<void> {
  for (const { process } of processes) await endUnmanaged(host, id, process)
  await host.cgroups?.remove(id)
  await rm(host.dir.sandbox(id), { recursive: true, force: true })
}

async function recoverFolder(
  host: Host,
  mode: RecoverMode,
  { manifest, records }: { readonly manifest: Manifest; readonly records: readonly AgentRecord[] },
  processes: readonly VmProcess[],
): Promise<void> {
  const sandbox = new Sandbox(manifest, host)
  const { id } = sandbox
  await sandbox.events.load(records)
  host.slots.reserve(manifest.slot)
  host.sandboxes.set(id, sandbox)
  const logged = host.events.position(id)?.type
  if (manifest.status === 'deleting' || logged === 'sandbox.deleted') {
    await endAll(processes)
    return finishRemoval(host, sandbox)
  }
  // A log that has announced a sandbox outweighs a folder that a power cut left behind it.
  if (manifest.status === 'creating' && logged === undefined) {
    await endAll(processes)
    return removeTraces(host, sandbox)
  }
  const own = processes.find(({ process }) => isSame(process, manifest.qemu))
  await endAll(processes.filter((other) => other !== own))
  if (manifest.status === 'failed') return endAll(processes)
  if (own && mode === 'adopt' && (await adopt(host, sandbox, own))) return
  await endAll(processes)
  await fail(host, sandbox, own && mode === 'end' ? 'ended' : 'vanished')
}

async function adopt(host: Host, sandbox: Sandbox, { process }: VmProcess): Promise<boolean> {
  try {
    const vm = await Vm.adopt(host.dir.vm(sandbox.id), process, Deadline.after(ADOPT_MS, `adoption of ${sandbox.id}`))
    if (host.events.position(sandbox.id) === null) await announceRunning(host, sandbox, sandbox.manifest)
    sandbox.vm = vm
    limitVm(host, sandbox, vm) // its agent may not have come to it
    watchVm(host, sandbox, vm)
    host.log.info({ sandbox_id: sandbox.id, pid: process.pid }, 'VM adopted')
    return true
  } catch (error) {
    host.log.error({ err: error, sandbox_id: sandbox.id }, 'VM cannot be adopted')
    return false
  }
}

async function fail(host: Host, sandbox: Sandbox, why: 'ended' | 'vanished'): Promise<void> {
  sandbox.manifest = { ...sandbox.manifest, status: 'failed', qemu: null }
  if (host.events.position(sandbox.id)?.type !== 'vm.died') {
    if (why === 'ended') await announceDeath(host, sandbox, null, 'SIGKILL')
    else {
      const message = 'the VM was gone when its agent started'
      await announce(host, sandbox, { type: 'recover.orphaned', message, metadata: {} })
    }
  }
  await writeManifest(host.dir.sandbox(sandbox.id), sandbox.manifest)
  await host.cgroups?.remove(sandbox.id)
}

async function endUnmanaged(host: Host, id: SandboxId | null, process: ProcessIdentity): Promise<void> {
  await endAll([{ process, folder: '' }])
  host.log.warn({ sandbox_id: id, pid: process.pid }, 'QEMU without a sandbox ended')
  // A bake that its agent did not live to finish was never anybody's sandbox.
  if (id === null) return
  await host.cgroups?.remove(id)
  const message = 'a VM without a sandbox was found and ended'
  await host.events.append({ type: 'recover.unmanaged', sandboxId: id, workspaceId: null, message, metadata: {} })
  host.events.forget(id)
}

async function endAll(processes: readonly VmProcess[]): Promise<void> {
  const deadline = Deadline.after(KILL_MS, 'end of a QEMU')
  for (const { process } of processes) {
    if (await signalProcess(process, 'SIGKILL')) await awaitEnd(process, deadline)
  }
}

function sandboxOf(host: Host, folder: string): SandboxId | null {
  if (!folder.startsWith(`${host.dir.sandboxes}/`)) return null
  return parseSandboxId(folder.slice(host.dir.sandboxes.length + 1).split('/')[0] ?? '')
}

function isSame(process: ProcessIdentity, noted: ProcessIdentity | null): boolean {
  return noted !== null && process.pid === noted.pid && process.startTicks === noted.startTicks
}
