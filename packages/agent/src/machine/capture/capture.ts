import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { addActiveLayer } from '../disks/active-layer.ts'
import { activeNode } from '../disks/layer-nodes.ts'
import { readDiskChain } from '../vm/read-disk-chain.ts'
import { flatten, stopFlattening } from '../disks/flatten.ts'
import { isEmptyLayer, neededLayers } from '../disks/needed-layers.ts'
import { MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import { fileOfLayer, newLayerId, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import type { Layers } from '../../store/disks/layers.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { continueReleased, stopHeld } from '../guest/hold.ts'
import { KEPT_PATH } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { CopyLane } from './copy-lane.ts'
import { bothEnded, copyImage, copyMemory, ImageLost, type MemoryCopy } from './memory-copy.ts'
import { keepImaged } from './keep-imaged.ts'
import { keepMemory } from './keep-memory.ts'
import { PAGE_BYTES } from './page-runs.ts'
import { MemoryImage } from './memory-image.ts'
import type { SavedMemory } from './save-memory.ts'
import { saveState } from './save-state.ts'

/** The agent copies less memory sooner than it reads the mappings of what QEMU has kept. */
export const LEAST_KEPT_BYTES = 32 * 1024 * 1024
/** Milliseconds to undo a failed capture. Independent of the capture's own deadline, which may be over. */
const UNDO_MS = 10_000

export interface Capture extends Omit<MemoryCopy, 'saving'> {
  /** The thread that copies the memory. The capture waits for it before it stops the guest. */
  readonly saving: Pick<CopyLane, 'use'>
  /** The VM's user; `null` if the agent is not root. */
  readonly uid: number | null
  readonly layers: Layers
  /** `as-before`: a running VM continues, a stopped one stays stopped. `stopped`: for a caller that ends the VM. */
  readonly leave: 'as-before' | 'stopped'
  /** `true`: QEMU maps what the capture writes (`keep-memory.ts`), from {@link LEAST_KEPT_BYTES} on. */
  readonly keepsMemory?: boolean
}

export interface Captured {
  readonly folder: string
  /** The disk's layers at that instant, the lowest first, without empty ones below the last. */
  readonly layers: readonly LayerId[]
  /** Bytes of the guest's memory that were written. */
  readonly memoryBytes: number
  /** How many of the offered bases it needs, from the lowest on. */
  readonly bases: number
  /** QEMU has the memory mapped from the files that it was written to: bases and own layer. */
  readonly isKept: boolean
  /** Milliseconds for which the guest was stopped; 0 for a VM that was stopped already. */
  readonly pausedMs: number
}

/**
 * Captures memory, devices and disk of one instant, of a running or a stopped VM. A child can be restored from it at once;
 * it becomes a checkpoint when it is sealed. If it fails, the VM is as before and the folder is removed. No other code may
 * change the VM's state meanwhile.
 */
export async function capture(vm: Vm, { saving, ...options }: Capture, deadline: Deadline): Promise<Captured> {
  return saving.use((thread) => captureWith(vm, { ...options, saving: thread }, deadline), deadline)
}

/** Options with the copying thread, which the capture now has. */
type Capturing = Omit<Capture, 'saving'> & MemoryCopy

async function captureWith(vm: Vm, options: Capturing, deadline: Deadline): Promise<Captured> {
  const queryStatus = () => vm.qmp.execute('query-status', {}, deadline)
  const [status, wasFlattening] = await Promise.all([queryStatus(), stopFlattening(vm, deadline)])
  const mustFlatten = (vm.disk?.layers.length ?? 0) >= MAX_LAYERS
  if (mustFlatten) await flatten(vm, deadline)
  // The end of a flattening stops a durable guest for a moment, so an earlier answer may be wrong.
  const { running } = wasFlattening || mustFlatten ? await queryStatus() : status
  if (!running) return captureOnce(vm, options, captureStopped, deadline)
  return captureOnce(vm, options, captureRunning, deadline).catch((error: unknown) => {
    if (!(error instanceof ImageLost)) throw error
    return captureOnce(vm, options, captureAtRest, deadline)
  })
}

/** The layer that becomes the disk's active one. It may be used as soon as `attached` has resolved. */
interface NextLayer {
  readonly next: LayerId
  readonly attached: Promise<void>
}

type Way = (
  vm: Vm,
  layer: NextLayer,
  options: Capturing,
  deadline: Deadline,
) => Promise<{ memory: SavedMemory; isKept?: boolean; pausedMs: number }>

async function captureOnce(vm: Vm, options: Capturing, way: Way, deadline: Deadline): Promise<Captured> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 })
  const next = newLayerId()
  const below = neededLayers(vm)
  try {
    const attached = attachLayer(vm, next, options, deadline)
    const { memory, isKept = false, pausedMs } = await way(vm, { next, attached }, options, deadline)
    const layers = [...below, ...chainOf(vm).layers.slice(-1)]
    const { pages, bases } = memory
    return { folder: options.folder, layers, memoryBytes: pages * PAGE_BYTES, bases, isKept, pausedMs }
  } catch (error) {
    // An error of the cleanup must not hide the first error.
    await undo(vm, next, options.folder).catch(() => undefined)
    throw error
  }
}

/**
 * Captures only the disk of a running VM, at one instant and without stopping the guest. The caller has synced the guest's
 * page cache before. If it fails, the VM is as before. No other code may change the VM's state meanwhile.
 * @returns the frozen layers, the lowest first
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
    await adoptFrozen(vm, options)
    return chainOf(vm).layers
  } catch (error) {
    // An error of the cleanup must not hide the first error.
    await undoLayer(vm, next).catch(() => undefined)
    throw error
  }
}

/** Freezes the disk of a VM that stands still, and gives it a new active layer. */
export async function addLayer(
  vm: Vm,
  options: Pick<Capture, 'bake' | 'uid' | 'layers'>,
  deadline: Deadline,
): Promise<void> {
  const next = newLayerId()
  await attachLayer(vm, next, options, deadline)
  await freezeDisk(vm, next, deadline)
  await adoptFrozen(vm, options)
}

/**
 * For large guests: takes an image of the memory while the guest is stopped, and copies the image while the guest runs. Stops it
 * again for a moment, so that QEMU can keep what the agent has copied.
 */
const captureRunning: Way = async (vm, layer, options, deadline) => {
  // A guest that ends afterwards gains nothing from an image.
  if (options.leave === 'stopped' || !vm.isDurable) return captureAtRest(vm, layer, options, deadline)
  const taken: { image: MemoryImage | null } = { image: null }
  try {
    const save = async () => {
      const taking = traceStep('image of the memory', () => MemoryImage.take(vm, deadline))
      ;[taken.image] = await bothEnded(taking, saveState(vm, options.folder, layer.next, deadline))
      return taken.image === null ? copyMemory(vm.process, options, deadline) : null
    }
    const { saved, pausedMs } = await pausing(vm, layer, options, save, deadline)
    if (saved !== null) return { memory: saved, pausedMs }
    const memory = await copyImage(taken.image, options, deadline)
    if (taken.image === null || !isWorthKeeping(memory, options)) return { memory, pausedMs }
    const kept = await keepImaged(vm, taken.image, options, deadline)
    return { memory, isKept: kept.isKept, pausedMs: pausedMs + kept.pausedMs }
  } finally {
    taken.image?.close()
  }
}

const captureAtRest: Way = async (vm, layer, options, deadline) => {
  const save = () => saveAll(vm, layer.next, options, deadline)
  const { saved, pausedMs } = await pausing(vm, layer, options, save, deadline)
  return { ...saved, pausedMs }
}

const captureStopped: Way = async (vm, { next, attached }, options, deadline) => {
  await attached
  const saved = await saveAll(vm, next, options, deadline)
  await freezeDisk(vm, next, deadline)
  await adoptFrozen(vm, options)
  return { ...saved, pausedMs: 0 }
}

/**
 * Waits as rarely as possible while the guest is stopped, because each wait is expensive on a busy host: the agent copies
 * memory, or takes its image, while QEMU writes its state, and QEMU continues right after it has changed the disk.
 */
async function pausing<T>(
  vm: Vm,
  { next, attached }: NextLayer,
  options: Capturing,
  save: () => Promise<T>,
  deadline: Deadline,
): Promise<{ saved: T; pausedMs: number }> {
  const { leave } = options
  // A guest that continues must not wait for the layer.
  if (leave === 'as-before') await attached
  const startedAt = performance.now()
  let isReleased = false
  try {
    await bothEnded(stopHeld(vm, deadline), attached)
    const saved = await save()
    const frozen = freezeDisk(vm, next, deadline)
    frozen.catch(() => undefined)
    if (leave === 'as-before') await continueReleased(vm, deadline)
    isReleased = leave === 'as-before'
    await frozen
    const pausedMs = performance.now() - startedAt
    await adoptFrozen(vm, options)
    return { saved, pausedMs }
  } catch (error) {
    if (!vm.hasEnded && !isReleased) await continueReleased(vm, Deadline.after(UNDO_MS, 'continuation of a VM'))
    throw error
  }
}

async function saveAll(vm: Vm, next: LayerId, options: Capturing, deadline: Deadline) {
  const [memory] = await bothEnded(
    copyMemory(vm.process, options, deadline),
    saveState(vm, options.folder, next, deadline),
  )
  const mayKeep = isWorthKeeping(memory, options) || (options.keepsMemory === true && memory.bases > 0)
  const isKept = mayKeep && (await keepMemory(vm, checkpointFiles(options.folder), KEPT_PATH, deadline))
  return { memory, isKept }
}

function isWorthKeeping({ pages }: SavedMemory, { keepsMemory = false }: Capturing): boolean {
  return keepsMemory && pages * PAGE_BYTES >= LEAST_KEPT_BYTES
}

/** Changes the chain in QEMU and in the agent together. The frozen layer is still in the VM's folder afterwards. */
async function freezeDisk(vm: Vm, next: LayerId, deadline: Deadline): Promise<void> {
  const { active, layers } = chainOf(vm)
  const nodes = { node: nodeOfLayer(active), overlay: nodeOfLayer(next) }
  await vm.qmp.execute('blockdev-snapshot', nodes, deadline)
  vm.disk = { active: next, layers: [...layers, active] }
}

async function adoptFrozen(vm: Vm, { bake, layers }: Pick<Capture, 'bake' | 'layers'>): Promise<void> {
  const chain = chainOf(vm)
  await layers.adopt(vm.folder, chain)
  const newest = chain.layers.at(-1)
  const isEmpty = newest !== undefined && (await isEmptyLayer(layers.path(newest), bakeFiles(bake).overlay))
  vm.emptyLayers = new Set(chain.layers.filter((id) => vm.emptyLayers.has(id) || (isEmpty && id === newest)))
  if (vm.isDurable) await layers.sync()
}

/** Records the new layer before QEMU has it. Without any data in the new layer, both chains are the same disk. */
async function recordNext(vm: Vm, next: LayerId): Promise<void> {
  const { active, layers } = chainOf(vm)
  await vm.recordDisk?.({ active: next, layers: [...layers, active] })
}

async function attachLayer(
  vm: Vm,
  id: LayerId,
  { bake, uid }: Pick<Capture, 'bake' | 'uid'>,
  deadline: Deadline,
): Promise<void> {
  const layer = { empty: bakeFiles(bake).overlay, uid, isDurable: vm.isDurable }
  await traceStep('file of a layer', () => addActiveLayer(vm.folder, id, layer))
  const file = { driver: 'file', filename: fileOfLayer(id) } as const
  const node = { ...activeNode(id, vm.isDurable, null), file }
  await bothEnded(vm.qmp.execute('blockdev-add', node, deadline), recordNext(vm, id))
}

async function undo(vm: Vm, next: LayerId, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await undoLayer(vm, next)
}

async function undoLayer(vm: Vm, next: LayerId): Promise<void> {
  if (vm.hasEnded) return
  const deadline = Deadline.after(UNDO_MS, 'removal of a layer')
  // A freeze may have happened although its answer did not arrive in time. The next capture then adopts the layer. QEMU
  // decides which of the two possible chains is true, and cannot name another layer.
  const before = chainOf(vm)
  const { active } = await readDiskChain(vm.qmp, deadline)
  const isFrozen = active === next && before.active !== next
  vm.disk = isFrozen ? { active: next, layers: [...before.layers, before.active] } : before
  await vm.recordDisk?.(vm.disk)
  if (vm.disk.active === next) return
  // The layer may not exist yet.
  await vm.qmp.execute('blockdev-del', { 'node-name': nodeOfLayer(next) }, deadline).catch(() => undefined)
  await rm(join(vm.folder, fileOfLayer(next)), { force: true })
}

function chainOf({ disk }: Vm) {
  if (disk === null) throw new Error('a VM without layers cannot be captured')
  return disk
}
