import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { createMemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { makeSandboxFolder } from '../../store/data-dir/folders.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { openActiveLayer } from '../../store/disks/layers.ts'
import { removeSpare } from './make-spare.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { PrestartedVm } from '../../machine/restore/prestarted-vm.ts'
import { prepareVm } from './boot-vm.ts'
import type { Host, HostStore, HostPlatform } from '../model/host.ts'
import { limitVm } from './limit-vm.ts'
import { adoptSpareFolder } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import type { Seed } from '../pool/seed.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'

const START_MS = 30_000

/**
 * A QEMU for a child that does not exist yet, started while its parent is captured. It lies where spare guests lie, so
 * that an agent that is killed finds and ends it as one of those; it becomes its child's as they do.
 */
export interface PrestartedChild {
  readonly slot: number
  readonly folder: string
  readonly starting: PrestartedVm
  /** All layers that the child will have, the lowest first; the last is the one that is being frozen. */
  readonly layers: readonly LayerId[]
  /** Of the last layer's file. */
  readonly inode: number
  /** Tells admission that its memory is counted elsewhere from now on, or not needed. */
  readonly release: () => void
  /** It is a sandbox's from then on, which ends it. */
  isTaken: boolean
}

interface Parent {
  readonly vm: Vm
  /** Folder that it is captured into. */
  readonly checkpoint: string
  /** Aborts when it has been. */
  readonly captured: AbortSignal
}

/**
 * Starts one beside the capture of `parent`; `null` where that would only
 * be in the way, or fails: the child is then restored after the capture. Never rejects.
 */
export async function prestartChild(
  host: Host,
  parent: Sandbox,
  { vm, checkpoint, captured }: Parent,
): Promise<PrestartedChild | null> {
  const { manifest } = parent
  // Where something else is being restored, two QEMUs more would take the time of one that stands still. What has devices
  // for volumes has another state than its parent's. And only root opens a file that it may not write.
  const { restores, admission } = host.gates
  if (restores.isBusy || manifest.devices.length > 0 || uidOfSlot(0) === null) return null
  try {
    const release = await admission.admit(manifest.memory_mb)
    return await restores
      .run(() => start(host, parent, { vm, checkpoint, captured, release }), parent.leaving.signal)
      .catch((error: unknown) => {
        release()
        throw error
      })
  } catch (error) {
    host.log.info({ err: error, sandbox_id: parent.id }, 'no child ahead of the capture')
    return null
  }
}

async function start(
  host: Host,
  { manifest, leaving }: Sandbox,
  { vm, checkpoint, captured, release }: Parent & Pick<PrestartedChild, 'release'>,
): Promise<PrestartedChild> {
  const slot = host.platform.slots.take()
  if (slot === null) throw new Error('no slot is free')
  const folder = join(host.store.dir.spares, randomUUID())
  try {
    const { active, layers } = vm.disk ?? unknownDisk()
    await createMemoryFiles(checkpoint)
    const frozen = await openActiveLayer(vm.folder, active)
    try {
      const { ino } = await frozen.stat()
      await makeSandboxFolder(folder)
      const options = await prepareVm(host, { ...manifest, slot, folder, givesWayUntil: captured })
      const starting = await PrestartedVm.start(
        {
          ...options,
          checkpoint: { folder: checkpoint, bases: 0, layers },
          frozen: { id: active, file: frozen },
          captured,
        },
        Deadline.after(START_MS, 'start of a QEMU ahead of a capture', leaving.signal),
      )
      return { slot, folder, starting, layers: [...layers, active], inode: ino, release, isTaken: false }
    } finally {
      await frozen.close()
    }
  } catch (error) {
    await removeSpare(host.platform, { slot, folder, vm: null })
    throw error
  }
}

/** Whether it waits for what a sandbox is to begin as; the parent may have gone another way since. */
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

/** Makes it the VM of a sandbox, whose slot it has, in the order in which a spare guest is given away. */
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
  limitVm(host, manifest, starting.vm)
}

/** Ends one that nobody has taken. */
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
