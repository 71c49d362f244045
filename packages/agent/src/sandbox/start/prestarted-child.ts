import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { createMemoryFiles, memoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { makeSandboxFolder } from '../../store/data-dir/folders.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { openActiveLayer } from '../../store/disks/layers.ts'
import { removeSpare } from './make-spare.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { neededLayers } from '../../machine/disks/needed-layers.ts'
import { PrestartedVm, type PrestartOptions } from '../../machine/restore/prestarted-vm.ts'
import type { ContinuedVm } from '../../machine/zygotes/continued-vm.ts'
import { copyToContinue, zygoteToContinue } from './copy-to-continue.ts'
import { prepareVm, type VmPlace } from './prepare-vm.ts'
import type { Host, HostStore, HostPlatform } from '../model/host.ts'
import { applyLimits } from './apply-limits.ts'
import { adoptSpareFolder } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import type { Seed } from '../pool/seed.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'

const START_MS = 30_000

/**
 * A QEMU for a child that does not exist yet, started while its parent is captured. Its folder is among those of the
 * spares, so that the next agent finds and ends it after a kill. It becomes its child's VM the way a spare does.
 */
export interface PrestartedChild {
  readonly slot: number
  readonly folder: string
  readonly starting: PrestartedVm | ContinuedVm
  /** All layers of the child, the lowest first. The last one is just being frozen. */
  readonly layers: readonly LayerId[]
  /** The inode of the last layer's file. */
  readonly inode: number
  /** Ends the reservation of its memory: its sandbox counts it from now on, or nothing needs it. */
  readonly release: () => void
  /** `true`: a sandbox has it, and ends it. */
  isTaken: boolean
}

interface Parent {
  readonly vm: Vm
  /** The folder of the capture. */
  readonly checkpoint: string
  /** The number of bases in it. */
  readonly bases: number
  /** Aborts when the capture is over. */
  readonly captured: AbortSignal
}

/**
 * Starts a child's QEMU during the capture of `parent`. Never rejects.
 * @returns `null` if it was not started, or failed to start: the child is restored after the capture then
 */
export async function prestartChild(
  host: Host,
  parent: Sandbox,
  { vm, checkpoint, bases, captured }: Parent,
): Promise<PrestartedChild | null> {
  const { manifest } = parent
  // While other VMs are being restored, an additional QEMU would delay them. A guest with volume devices has another device
  // state than its parent. And only root can open a file that it may not write.
  const { restores, admission } = host.gates
  if (restores.isBusy || manifest.devices.length > 0 || uidOfSlot(0) === null) return null
  try {
    const release = await admission.admit(manifest.memory_mb)
    return await restores
      .run(() => start(host, parent, { vm, checkpoint, bases, captured, release }), parent.leaving.signal)
      .catch((error: unknown) => {
        release()
        throw error
      })
  } catch (error) {
    host.log.info({ err: error, sandbox_id: parent.id }, 'QEMU of a child not started during the capture of its parent')
    return null
  }
}

async function start(
  host: Host,
  { manifest, leaving }: Sandbox,
  { vm, checkpoint, bases, captured, release }: Parent & Pick<PrestartedChild, 'release'>,
): Promise<PrestartedChild> {
  const slot = host.platform.slots.take()
  if (slot === null) throw new Error('no slot is free')
  const folder = join(host.store.dir.spares, randomUUID())
  try {
    const { active } = vm.disk ?? unknownDisk()
    const layers = neededLayers(vm)
    await createMemoryFiles(checkpoint)
    const frozen = await openActiveLayer(vm.folder, active)
    try {
      const { ino } = await frozen.stat()
      await makeSandboxFolder(folder)
      const deadline = Deadline.after(START_MS, 'start of a QEMU during a capture', leaving.signal)
      const place = { ...manifest, slot, folder, lowPriorityUntil: captured }
      const from = { checkpoint, bases, layers, frozen: { id: active, file: frozen }, captured }
      const starting = await startWaiting(host, place, from, deadline)
      return { slot, folder, starting, layers: [...layers, active], inode: ino, release, isTaken: false }
    } finally {
      await frozen.close()
    }
  } catch (error) {
    await removeSpare(host.platform, { slot, folder, vm: null })
    throw error
  }
}

interface Waiting extends Pick<PrestartOptions, 'frozen' | 'captured'> {
  /** Folder of the checkpoint. */
  readonly checkpoint: string
  /** The number of bases in it. Its own layer has the pages of those that it does not need after all. */
  readonly bases: number
  readonly layers: readonly LayerId[]
}

/** A copy of the template's zygote, or else a QEMU that is started. */
async function startWaiting(
  host: Host,
  place: VmPlace,
  { checkpoint, bases, layers, frozen, captured }: Waiting,
  deadline: Deadline,
): Promise<PrestartedVm | ContinuedVm> {
  host.pool.noteRestore(place.bake)
  const source = zygoteToContinue(host, place, layers.length + 1)
  if (source !== null) {
    const below = layers.map((id) => ({ id, file: host.store.layers.path(id) }))
    const disk = [...below, { id: frozen.id, file: { open: frozen.file } }]
    return copyToContinue(host, source, place, { memory: memoryFiles(checkpoint, bases), disk }, deadline)
  }
  const options = { ...(await prepareVm(host, place)), checkpoint: { folder: checkpoint, bases, layers } }
  return PrestartedVm.start({ ...options, frozen, captured }, deadline)
}

/** Whether it has the disk that the sandbox needs. The parent's disk may have changed between start and capture. */
export async function isMeantFor(
  store: HostStore,
  prestarted: PrestartedChild,
  { checkpoint }: Seed,
): Promise<boolean> {
  const layers = checkpoint?.layers ?? []
  if (layers.join() !== prestarted.layers.join()) return false
  const newest = layers.at(-1)
  return newest !== undefined && (await store.layers.inode(newest)) === prestarted.inode
}

/** Gives it to a sandbox, which already has its slot. The order of steps is that of `giveSpare`. */
export async function givePrestartedChild(
  host: Host,
  sandbox: Sandbox,
  { folder, starting }: PrestartedChild,
  { statePath, greet }: { readonly statePath: string; readonly greet: Greet },
  deadline: Deadline,
): Promise<void> {
  const { id, manifest } = sandbox
  sandbox.firstManifest = await adoptSpareFolder(folder, host.store.dir.sandbox(id), manifest)
  starting.vm.moved(host.store.dir.vm(id))
  await starting.load(statePath, greet, deadline)
  applyLimits(host, manifest, starting.vm)
}

/** Ends it unless a sandbox has taken it. */
export async function endPrestartedChild(platform: HostPlatform, prestarted: PrestartedChild | null): Promise<void> {
  if (prestarted === null) return
  prestarted.release()
  if (prestarted.isTaken) return
  prestarted.isTaken = true
  await removeSpare(platform, { slot: prestarted.slot, folder: prestarted.folder, vm: prestarted.starting.vm })
}

function unknownDisk(): never {
  throw new Error('a VM without layers cannot be captured')
}
