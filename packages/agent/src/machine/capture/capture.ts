import { constants } from 'node:fs'
import { mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { addActiveLayer } from '../disks/active-layer.ts'
import { readDiskChain } from '../vm/read-disk-chain.ts'
import { flatten, stopFlattening } from '../disks/flatten.ts'
import { fileOfLayer, newLayerId, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import type { Layers } from '../../store/disks/layers.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { continueReleased, stopHeld } from '../guest/hold.ts'
import { LAYER_DISCARD } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { CopyLane } from './copy-lane.ts'
import { bothEnded, copyImage, copyMemory, ImageLost, type MemoryCopy } from './memory-copy.ts'
import { PAGE_BYTES } from './page-runs.ts'
import { MemoryImage } from './memory-image.ts'
import type { SavedMemory } from './save-memory.ts'

/** Frozen layers below a disk; with more of them the disk is flattened first. Each is a descriptor of QEMU's. */
const MAX_LAYERS = 64
/** Bytes; the state of our devices has 20 KiB. */
const MAX_STATE_BYTES = 16 * 1024 * 1024
/** Milliseconds to undo what was begun, whatever deadline has passed. */
const UNDO_MS = 10_000

export interface Capture extends Omit<MemoryCopy, 'saving'> {
  /** The thread that copies the memory is had before the guest is stopped. */
  readonly saving: Pick<CopyLane, 'use'>
  /** The VM's user; `null` where it has none. */
  readonly uid: number | null
  readonly layers: Layers
  /** `as-before`: a running VM runs on, a stopped one stays so. `stopped`: for who is going to end it. */
  readonly leave: 'as-before' | 'stopped'
}

export interface Captured {
  readonly folder: string
  /** Of the disk at that instant, the lowest first. */
  readonly layers: readonly LayerId[]
  /** Of the guest's memory that was written. */
  readonly memoryBytes: number
  /** How many of the bases offered it lies over, from the lowest on. */
  readonly bases: number
  /** For which the guest's processes stood still; 0 for a VM that stood still anyway. */
  readonly pausedMs: number
}

/**
 * Memory, devices and disk of one instant, from a VM that runs or stands still.
 * Restore from it at once if need be; it is a checkpoint when it has been sealed.
 *
 * Whatever fails, the VM is as before and the folder is gone. Nobody else may change the VM's state meanwhile.
 */
export async function capture(vm: Vm, { saving, ...options }: Capture, deadline: Deadline): Promise<Captured> {
  return saving.use((thread) => captureWith(vm, { ...options, saving: thread }, deadline), deadline)
}

/** With the thread that copies its memory. */
type Capturing = Omit<Capture, 'saving'> & MemoryCopy

async function captureWith(vm: Vm, options: Capturing, deadline: Deadline): Promise<Captured> {
  await stopFlattening(vm, deadline)
  if ((vm.disk?.layers.length ?? 0) >= MAX_LAYERS) await flatten(vm, deadline)
  // Not before: the end of a flattening stops a durable guest for a moment.
  const { running } = await vm.qmp.execute('query-status', {}, deadline)
  if (!running) return captureOnce(vm, options, captureStopped, deadline)
  return captureOnce(vm, options, captureRunning, deadline).catch((error: unknown) => {
    if (!(error instanceof ImageLost)) throw error
    return captureOnce(vm, options, captureAtRest, deadline)
  })
}

type Way = (
  vm: Vm,
  next: LayerId,
  options: Capturing,
  deadline: Deadline,
) => Promise<{ memory: SavedMemory; pausedMs: number }>

async function captureOnce(vm: Vm, options: Capturing, way: Way, deadline: Deadline): Promise<Captured> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 })
  const next = newLayerId()
  try {
    await attachLayer(vm, next, options, deadline)
    const { memory, pausedMs } = await way(vm, next, options, deadline)
    const { layers } = chainOf(vm)
    const { pages, bases } = memory
    return { folder: options.folder, layers, memoryBytes: pages * PAGE_BYTES, bases, pausedMs }
  } catch (error) {
    // Whatever fails here as well, the first failure is the one to tell.
    await undo(vm, next, options.folder).catch(() => undefined)
    throw error
  }
}

/**
 * The disk of one instant alone, from a VM that runs; the guest does not stand still for it. What of the guest's own cache is
 * to be in it has been synced before.
 *
 * Whatever fails, the VM is as before. Nobody else may change the VM's state meanwhile.
 * @returns its frozen layers, the lowest first
 */
export async function captureDisk(
  vm: Vm,
  options: Pick<Capture, 'bake' | 'uid' | 'layers'>,
  deadline: Deadline,
): Promise<readonly LayerId[]> {
  await stopFlattening(vm, deadline)
  if (chainOf(vm).layers.length >= MAX_LAYERS) await flatten(vm, deadline)
  const next = newLayerId()
  try {
    await attachLayer(vm, next, options, deadline)
    await freezeDisk(vm, next, deadline)
    await adoptFrozen(vm, options.layers)
    return chainOf(vm).layers
  } catch (error) {
    // As above.
    await undoLayer(vm, next).catch(() => undefined)
    throw error
  }
}

/** Large guests: an image of the memory is made while the guest stands still, and copied while it runs on. */
const captureRunning: Way = async (vm, next, options, deadline) => {
  // One that is to end waits for nothing afterwards.
  if (options.leave === 'stopped' || !vm.isDurable) return captureAtRest(vm, next, options, deadline)
  let image: MemoryImage | null = null
  try {
    const save = async () => {
      const [taken] = await bothEnded(MemoryImage.take(vm, deadline), saveState(vm, options, next, deadline))
      image = taken
      return taken === null ? copyMemory(vm.process, options, deadline) : null
    }
    const { saved, pausedMs } = await pausing(vm, next, options, save, deadline)
    return { memory: saved ?? (await copyImage(image, options, deadline)), pausedMs }
  } finally {
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- assigned in a function, which the compiler does not see
    ;(image as MemoryImage | null)?.close()
  }
}

const captureAtRest: Way = async (vm, next, options, deadline) => {
  const { saved, pausedMs } = await pausing(vm, next, options, () => saveAll(vm, next, options, deadline), deadline)
  return { memory: saved, pausedMs }
}

const captureStopped: Way = async (vm, next, options, deadline) => {
  const memory = await saveAll(vm, next, options, deadline)
  await freezeDisk(vm, next, deadline)
  await adoptFrozen(vm, options.layers)
  return { memory, pausedMs: 0 }
}

/**
 * As few waits as can be while the guest stands still, because on a busy host each costs more than what is waited for:
 * memory is copied, or an image of it made, while QEMU writes its state, and QEMU continues right after it has changed the disk.
 */
async function pausing<T>(
  vm: Vm,
  next: LayerId,
  { leave, layers }: Capturing,
  save: () => Promise<T>,
  deadline: Deadline,
): Promise<{ saved: T; pausedMs: number }> {
  const startedAt = performance.now()
  let isReleased = false
  try {
    await stopHeld(vm, deadline)
    const saved = await save()
    const frozen = freezeDisk(vm, next, deadline)
    frozen.catch(() => undefined)
    if (leave === 'as-before') await continueReleased(vm, deadline)
    isReleased = leave === 'as-before'
    await frozen
    const pausedMs = performance.now() - startedAt
    await adoptFrozen(vm, layers)
    return { saved, pausedMs }
  } catch (error) {
    if (!vm.hasEnded && !isReleased) await continueReleased(vm, Deadline.after(UNDO_MS, 'continuation of a VM'))
    throw error
  }
}

async function saveAll(vm: Vm, next: LayerId, options: Capturing, deadline: Deadline): Promise<SavedMemory> {
  const [saved] = await bothEnded(copyMemory(vm.process, options, deadline), saveState(vm, options, next, deadline))
  return saved
}

/** Changes the chain at once, in QEMU and here; the frozen layer is still in the VM's folder then. */
async function freezeDisk(vm: Vm, next: LayerId, deadline: Deadline): Promise<void> {
  const { active, layers } = chainOf(vm)
  const nodes = { node: nodeOfLayer(active), overlay: nodeOfLayer(next) }
  await vm.qmp.execute('blockdev-snapshot', nodes, deadline)
  vm.disk = { active: next, layers: [...layers, active] }
}

async function adoptFrozen(vm: Vm, layers: Layers): Promise<void> {
  await layers.adopt(vm.folder, chainOf(vm))
  if (vm.isDurable) await layers.sync()
}

/** Until QEMU writes to it, a disk with the new layer on top is the disk without it. */
async function noteNext(vm: Vm, next: LayerId): Promise<void> {
  const { active, layers } = chainOf(vm)
  await vm.recordDisk?.({ active: next, layers: [...layers, active] })
}

async function attachLayer(
  vm: Vm,
  id: LayerId,
  { bake, uid }: Pick<Capture, 'bake' | 'uid'>,
  deadline: Deadline,
): Promise<void> {
  await addActiveLayer(vm.folder, id, { empty: bakeFiles(bake).overlay, uid, isDurable: vm.isDurable })
  const file = { driver: 'file', filename: fileOfLayer(id) } as const
  const node = {
    driver: 'qcow2',
    'node-name': nodeOfLayer(id),
    file,
    cache: { 'no-flush': !vm.isDurable },
    discard: LAYER_DISCARD,
    backing: null,
  } as const
  await bothEnded(vm.qmp.execute('blockdev-add', node, deadline), noteNext(vm, id))
}

/** QEMU writes in its own folder only; what it made there is believed to be nothing but bytes. */
async function saveState(vm: Vm, { folder }: Capturing, id: LayerId, deadline: Deadline): Promise<void> {
  const name = `state-${id}`
  const path = join(vm.folder, name)
  try {
    await vm.qmp.execute('xen-save-devices-state', { filename: name, live: false }, deadline)
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await file.stat()
      if (!stats.isFile() || stats.size > MAX_STATE_BYTES) throw new Error("QEMU's device state is no file of its size")
      await writeFile(checkpointFiles(folder).state, await file.readFile(), { flag: 'wx', mode: 0o400 })
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}

async function undo(vm: Vm, next: LayerId, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await undoLayer(vm, next)
}

async function undoLayer(vm: Vm, next: LayerId): Promise<void> {
  if (vm.hasEnded) return
  const deadline = Deadline.after(UNDO_MS, 'removal of a layer')
  // A freeze whose answer did not come in time may have happened; the layer is then adopted by the next capture. QEMU decides
  // between the two chains that are possible, and names no layer of its own.
  const before = chainOf(vm)
  const { active } = await readDiskChain(vm.qmp, deadline)
  const isFrozen = active === next && before.active !== next
  vm.disk = isFrozen ? { active: next, layers: [...before.layers, before.active] } : before
  await vm.recordDisk?.(vm.disk)
  if (vm.disk.active === next) return
  // It may not have come so far.
  await vm.qmp.execute('blockdev-del', { 'node-name': nodeOfLayer(next) }, deadline).catch(() => undefined)
  await rm(join(vm.folder, fileOfLayer(next)), { force: true })
}

function chainOf({ disk }: Vm) {
  if (disk === null) throw new Error('a VM without layers cannot be captured')
  return disk
}
