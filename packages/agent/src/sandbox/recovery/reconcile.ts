import { pid as ownPid } from 'node:process'
import { parseSandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive } from '@offshoot/kit/process-identity'
import { flatten } from '../../machine/disks/flatten.ts'
import { endVmProcesses } from '../../machine/host/end-vm-processes.ts'
import { findVmProcesses, parentOf } from '../../machine/host/find-vm-processes.ts'
import { endUnmanaged, sandboxOf } from './end-unmanaged.ts'
import type { Host, HostStore } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { sweepBakes } from '../cleanup/sweep-bakes.ts'
import { sweepLayers } from '../cleanup/sweep-layers.ts'
import { readoptSandbox } from './recover.ts'
import { recordLoss } from '../lifecycle/watch-vm.ts'
import { continueUnanswered } from '../lifecycle/wake.ts'
import { removeHibernation, removeMemoryBase } from '../lifecycle/old-checkpoints.ts'

const LOOK_MS = 30_000
/** Seconds after a start before objects in quarantine can expire. */
const QUARANTINE_GRACE_S = 24 * 3600
/** Number of frozen layers from which on the agent flattens a disk. */
const FLATTEN_FROM = 8
/** Milliseconds for one flattening: gigabytes at a limited speed. */
const FLATTEN_MS = 600_000

/**
 * Cleans up every 30 s: ends orphaned QEMUs, deletes unneeded layers, lets the ledger decide about orphaned folders, and keeps
 * chains of layers short. Ignores sandboxes that are changing until the next run.
 */
export class Reconciliation {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  #isLooking = false

  constructor(host: Host) {
    this.#host = host
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      await reconcile(this.#host)
    } catch (error) {
      this.#host.log.error({ err: error }, 'reconciliation failed')
    } finally {
      this.#isLooking = false
    }
  }
}

/** One run of the reconciliation. */
export async function reconcile(host: Host): Promise<void> {
  await endStrayProcesses(host)
  await recordLostVms(host)
  await settleStrayFolders(host)
  await continueAllUnanswered(host)
  await host.platform.cgroups?.removeAllBut((slot) => host.platform.slots.isTaken(slot))
  await host.store.snapshots.settleUnrecorded()
  await flattenLongChains(host)
  await sweepLayers(host)
  await sweepBakes(host)
  await expireQuarantine(host.store)
  await host.platform.network?.renewUplinks()
}

async function endStrayProcesses(host: Host): Promise<void> {
  for (const found of await findVmProcesses(host.store.dir.root)) {
    const { process, folder, launcher } = found
    const id = sandboxOf(host.store, folder)
    if (id === null) {
      // The QEMU of a bake or build, whose agent died while it started it.
      const parentPid = await parentOf(launcher ?? process)
      if (parentPid !== null && parentPid !== ownPid) await endUnmanaged(host, null, found)
      continue
    }
    if (host.store.ledger.unreadable.has('sandbox', id)) continue
    const sandbox = host.sandboxes.get(id)
    if (sandbox === undefined) {
      if (await isAlive(process)) await endUnmanaged(host, id, found)
      continue
    }
    if (isChanging(sandbox) || sandbox.vm?.process.pid === process.pid) continue
    host.log.warn({ sandbox_id: id, pid: process.pid }, 'second QEMU of a sandbox ended')
    await endVmProcesses([found])
  }
}

/** Records the ends of VMs that could not be recorded when they happened. */
async function recordLostVms(host: Host): Promise<void> {
  for (const sandbox of host.sandboxes.values()) {
    const { lost, leaving, transitions } = sandbox
    if (lost === null || isChanging(sandbox) || leaving.signal.aborted) continue
    await transitions
      .run(async () => (sandbox.lost === null ? undefined : recordLoss(host, sandbox, lost.end)))
      .catch((error: unknown) => host.log.error({ err: error, sandbox_id: sandbox.id }, 'end of VM not recorded'))
  }
}

async function settleStrayFolders(host: Host): Promise<void> {
  for (const name of await host.store.dir.listSandboxes()) {
    const id = parseSandboxId(name)
    if (id === null || host.arrivals.has(id)) continue
    const sandbox = host.sandboxes.get(id)
    if (sandbox === undefined) {
      // An operator may have repaired its record since the last run.
      if (await readoptSandbox(host, id)) host.log.warn({ sandbox_id: id }, 'sandbox of a stray folder taken over')
      continue
    }
    if (isChanging(sandbox) || sandbox.manifest.status === 'hibernated') continue
    await removeHibernation(host, sandbox)
    if (sandbox.manifest.status === 'failed') await removeMemoryBase(host, sandbox)
  }
}

async function continueAllUnanswered(host: Host): Promise<void> {
  const sandboxes = [...host.sandboxes.values()].filter((sandbox) => !isChanging(sandbox))
  await Promise.all(sandboxes.map((sandbox) => continueUnanswered(host, sandbox)))
}

async function flattenLongChains(host: Host): Promise<void> {
  for (const sandbox of host.sandboxes.values()) {
    const { vm, manifest } = sandbox
    if (manifest.status !== 'running' || isChanging(sandbox) || (vm?.disk?.layers.length ?? 0) < FLATTEN_FROM) continue
    const deadline = Deadline.after(FLATTEN_MS, `flattening of the disk of ${sandbox.id}`)
    // A checkpoint or the end of the VM may have stopped it. The next run retries.
    if (vm !== null) {
      await flatten(vm, deadline).catch((error: unknown) =>
        host.log.info({ err: error, sandbox_id: sandbox.id }, 'disk not flattened'),
      )
    }
  }
}

/** Not soon after a start: an operator who starts a host after weeks must still find the objects in quarantine. */
async function expireQuarantine({ ledger }: HostStore): Promise<void> {
  if (process.uptime() > QUARANTINE_GRACE_S) await ledger.expire()
}

function isChanging({ manifest, transitions }: Sandbox): boolean {
  return transitions.isBusy || manifest.status === 'creating' || manifest.status === 'deleting'
}
