import { chmod } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { checkpointFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { MemoryImage } from './memory-image.ts'
import { FINAL_MODE, type SavedMemory } from './save-memory.ts'
import type { Thread } from './thread.ts'

/** 16 MiB. Two threads copy more: allocating pages of a file costs more than copying them, so two CPUs are faster than one. */
const MAX_PAGES_OF_ONE = 4096
const SHARES = 2

/** The image's process ended, for lack of memory for example. */
export class ImageLost extends Error {
  override readonly name = 'ImageLost'
}

/** The files and threads of a copy. */
export interface MemoryCopy {
  /**
   * The folder of the checkpoint. It does not exist yet, or contains only empty `pages` and `runs`, which a QEMU has opened
   * already.
   */
  readonly folder: string
  /** The folder of the bake from which the VM was restored, directly or through other guests. */
  readonly bake: string
  readonly memoryMib: number
  /** See `SaveMemory.bases`; awaited while the guest is stopped already. */
  readonly bases?: Promise<readonly MemoryFiles[]>
  readonly saving: Pick<Thread, 'ask'>
  /** Helps with many pages; `null`: nothing does. */
  readonly savingBeside: Pick<Thread, 'ask'> | null
}

/** @param process the process with the memory, which must not change it meanwhile */
export async function copyMemory(
  { pid }: ProcessIdentity,
  { folder, bake, memoryMib, bases, saving, savingBeside }: MemoryCopy,
  deadline: Deadline,
): Promise<SavedMemory> {
  const { pages, runs } = checkpointFiles(folder)
  const place = memoryPlace({ bake, memoryMib })
  const maxPages = savingBeside === null ? Number.POSITIVE_INFINITY : MAX_PAGES_OF_ONE
  const asked = { pid, ...place, pages, runs, maxPages, bases: (await bases) ?? [] }
  return traceStep('copy of the memory', async () => {
    const saved = await saving.ask('save', asked, deadline)
    if (saved.start === null || savingBeside === null) return saved
    const { start } = saved
    const copy = (thread: Pick<Thread, 'ask'>, index: number) =>
      thread.ask('copy', { pid, pages, runs, start, share: { index, of: SHARES } }, deadline)
    await bothEnded(copy(saving, 0), copy(savingBeside, 1))
    await chmod(pages, FINAL_MODE)
    return saved
  })
}

/** @throws ImageLost */
export async function copyImage(
  image: MemoryImage | null,
  options: MemoryCopy,
  deadline: Deadline,
): Promise<SavedMemory> {
  if (image === null) throw new Error('there is no image')
  const memory = await copyMemory(image.process, options, deadline).catch((cause: unknown) => {
    deadline.throwIfOver()
    // A process that is ending looks alive for a while. Any other error occurs again in the copy from the stopped guest.
    throw new ImageLost('the image of a memory could not be copied', { cause })
  })
  if (!(await isAlive(image.process))) throw new ImageLost('the image of a memory ended before it was copied')
  return memory
}

/**
 * One byte for each page of a copy from an image: 1 if QEMU still shares it with the image.
 * @param process the QEMU, in which nothing writes the memory meanwhile
 */
export async function unwrittenSince(
  image: MemoryImage,
  { pid }: ProcessIdentity,
  { folder, bake, memoryMib, bases, saving }: MemoryCopy,
  deadline: Deadline,
): Promise<Uint8Array> {
  const { runs } = checkpointFiles(folder)
  const asked = { pid, image: image.process.pid, ...memoryPlace({ bake, memoryMib }), runs, bases: (await bases) ?? [] }
  const shared = await saving.ask('shared', asked, deadline)
  // Another process may have its number, and none of its pages.
  if (!(await isAlive(image.process))) throw new ImageLost('the image of a memory ended before QEMU kept it')
  return shared
}

function memoryPlace({ bake, memoryMib }: Pick<MemoryCopy, 'bake' | 'memoryMib'>) {
  return { bakeMemory: bakeFiles(bake).memory, memoryBytes: memoryMib * 1024 * 1024 }
}

/** Waits for both before it throws an error: no caller may continue a VM while its memory is being read. */
export async function bothEnded<T>(first: Promise<T>, second: Promise<unknown>): Promise<[T]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value]
}
