import { Deadline } from '@offshoot/kit/deadline'
import { continueReleased } from '../../machine/guest/hold.ts'
import type { Base } from '../../store/checkpoints/memory-bases.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { hibernatedDraft } from '../events/announce-state.ts'
import { captureSandbox, checkpointOrigin } from '../model/capture-options.ts'
import { commitChange } from '../model/commit-change.ts'
import type { Host } from '../model/host.ts'
import { NEWER_FORMAT, writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { removeHibernation, removeMemoryBase } from './old-checkpoints.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { syncVolumes } from '../volumes/sandbox-volumes.ts'
import { requireVm, whileStopping } from '../model/stopping.ts'

/** Milliseconds to write a checkpoint: gigabytes to a slow disk. */
const CAPTURE_MS = 300_000
const CONTINUE_MS = 10_000
const KILL_MS = 10_000

const SYNC_MS = 60_000

export interface HibernateOptions {
  /** Called when the guest accepts no more requests; `false` cancels the hibernation. */
  readonly isWanted?: () => boolean
  /** `false`: only the disk is kept, and the next wake boots from it. */
  readonly keepsMemory?: boolean
}

/**
 * Writes a sandbox's memory to disk and ends its VM. Foreground commands end; other processes continue after the wake. No
 * effect on a hibernated sandbox.
 * @throws ApiError 404, 409 paused, 507 disk full: the sandbox runs on then
 */
export async function hibernateSandbox(
  host: Host,
  sandbox: Sandbox,
  { isWanted = () => true, keepsMemory = true }: HibernateOptions = {},
): Promise<void> {
  await sandbox.change(async (cancelled) => {
    if (sandbox.manifest.status === 'hibernated') return
    const vm = requireVm(sandbox, 'running')
    try {
      await host.gates.hibernations.run(async () => {
        if (isWanted()) await whileStopping(sandbox, () => hibernate(host, sandbox, { vm, keepsMemory }, cancelled))
      }, cancelled)
    } catch (error) {
      throw await refusal(host, sandbox, 'sandbox could not be hibernated', error)
    }
  })
}

async function hibernate(
  host: Host,
  sandbox: Sandbox,
  { vm, keepsMemory }: { readonly vm: Vm; readonly keepsMemory: boolean },
  cancelled: AbortSignal,
): Promise<void> {
  const startedAt = performance.now()
  const { slot } = sandbox.manifest
  const deadline = Deadline.after(CAPTURE_MS, `hibernation of ${sandbox.id}`, cancelled)
  const folder = host.store.dir.hibernation(sandbox.id)
  const offering = offerBases(host, sandbox, deadline)
  const bases = offering.then((offered) => offered.map(({ files }) => files))
  // The capture awaits it late, or never if it fails before.
  bases.catch(() => undefined)
  await Promise.all([host.store.checkpoints.remove(folder), syncVolumes(host, sandbox, vm)])
  // Without the memory, its dirty pages would be lost.
  if (!keepsMemory) await syncDisk(sandbox, vm, cancelled)
  const captured = await captureSandbox(host, sandbox, vm, { folder, leave: 'stopped', bases }, deadline)
  try {
    const bases = (await offering).slice(0, captured.bases)
    await linkBases(host, sandbox, bases)
    const machine = host.platform.machines.of(sandbox.manifest)
    // The usage is counted before the commit, which takes the slot and its traffic counters away from the sandbox.
    const sealed = host.store.checkpoints.seal(captured, checkpointOrigin(sandbox), machine, deadline, bases)
    await Promise.all([sealed, host.usage.settle(sandbox)])
    const snapMs = Math.round(performance.now() - startedAt)
    const memMib = Math.ceil(captured.memoryBytes / 1024 / 1024)
    const manifest: Manifest = {
      ...sandbox.manifest,
      ...(bases.length > 0 ? { format: NEWER_FORMAT } : {}),
      status: 'hibernated',
      cold: !keepsMemory,
      layers: [...captured.layers],
      slot: NO_SLOT,
      home_slot: slot,
      qemu: null,
    }
    await commitChange(host, sandbox, manifest, hibernatedDraft(keepsMemory ? { snapMs, memMib } : null))
  } catch (error) {
    await host.store.checkpoints
      .remove(folder)
      .catch((cause: unknown) =>
        host.log.error({ err: cause, sandbox_id: sandbox.id }, 'unfinished checkpoint not removed'),
      )
    // On a full disk, only the removal above may have made room for this.
    await writeRunningManifest(host.store.dir.sandbox(sandbox.id), sandbox.manifest).catch(() => undefined)
    await continueReleased(vm, Deadline.after(CONTINUE_MS, `hibernation of ${sandbox.id} rolled back`, cancelled))
    throw error
  }
  sandbox.vm = null
  vm.refuse()
  await vm.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
  await host.platform.cgroups?.remove(slot)
  host.platform.slots.park(slot, sandbox.id)
  // The checkpoint has links of its own, so the caller need not wait. If the agent is killed here, the next wake removes the
  // base.
  void sandbox.transitions.runNext(() => removeMemoryBase(host, sandbox))
  // The layers of the disk are kept elsewhere. The next wake does not read the memory even if the removal fails.
  if (!keepsMemory) await removeHibernation(host, sandbox)
}

async function syncDisk({ id }: Sandbox, vm: Vm, cancelled: AbortSignal): Promise<void> {
  const deadline = Deadline.after(SYNC_MS, `sync of ${id}`, cancelled)
  const link = await vm.link(deadline)
  await link.files.sync({ deadline })
}

/** The memory that is on disk already, from an earlier hibernation. Without it, the hibernation writes all memory. */
async function offerBases(host: Host, { id }: Sandbox, deadline: Deadline): Promise<readonly Base[]> {
  const { checkpoints, dir } = host.store
  return checkpoints.bases.offer(dir.memoryBase(id), dir.hibernation(id), deadline).catch((error: unknown) => {
    deadline.throwIfOver()
    host.log.warn({ err: error, sandbox_id: id }, 'base of a sandbox cannot be used: writing all its memory')
    return []
  })
}

async function linkBases(host: Host, sandbox: Sandbox, bases: readonly Base[]): Promise<void> {
  try {
    const files = bases.map((base) => base.files)
    await host.store.checkpoints.bases.link(files, host.store.dir.hibernation(sandbox.id))
  } catch (error) {
    // There may be too many hard links, or files may be missing: the next hibernation writes all memory. But not on a full
    // disk, where that would need more space.
    if (!isDiskFull(error)) await removeMemoryBase(host, sandbox)
    throw error
  }
}
