import { chmod } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { checkpointFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { MemoryImage } from './memory-image.ts'
import { FINAL_MODE, type SavedMemory, type SaveMemory } from './save-memory.ts'
import type { Thread } from './thread.ts'

/** The result of the threads that copy an image. */
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
  /** See `SaveMemory.bases`; awaited while the guest is stopped already. A copy of an image has no bases. */
  readonly bases?: Promise<readonly MemoryFiles[]>
  readonly saving: Pick<Thread, 'ask'>
  /** Helps with images: allocating pages of a file costs more than copying them, so two CPUs are faster than one. */
  readonly savingBeside: Pick<Thread, 'ask'>
}

interface Part {
  readonly thread: Pick<Thread, 'ask'>
  readonly share: SaveMemory['share']
}

/** @param process the process with the memory, which must not change it meanwhile */
export async function copyMemory(
  { pid }: ProcessIdentity,
  { folder, bake, memoryMib, bases, saving }: MemoryCopy,
  deadline: Deadline,
  { thread, share }: Part = { thread: saving, share: null },
): Promise<SavedMemory> {
  const { pages, runs } = checkpointFiles(folder)
  const place = { bakeMemory: bakeFiles(bake).memory, memoryBytes: memoryMib * 1024 * 1024 }
  const offered = (share === null && (await bases)) || []
  return traceStep('copy of the memory', () =>
    thread.ask('save', { pid, ...place, pages, runs, share, bases: offered }, deadline),
  )
}

/** @throws ImageLost */
export async function copyImage(
  image: MemoryImage | null,
  options: MemoryCopy,
  deadline: Deadline,
): Promise<SavedMemory> {
  if (image === null) throw new Error('there is no image')
  const part = (thread: Part['thread'], index: number) =>
    copyMemory(image.process, options, deadline, { thread, share: { index, of: SHARES } })
  const both = bothEnded(part(options.saving, 0), part(options.savingBeside, 1))
  const [memory] = await both.catch((cause: unknown) => {
    deadline.throwIfOver()
    // A process that is ending looks alive for a while. Any other error occurs again in the copy from the stopped guest.
    throw new ImageLost('the image of a memory could not be copied', { cause })
  })
  if (!(await isAlive(image.process))) throw new ImageLost('the image of a memory ended before it was copied')
  await chmod(checkpointFiles(options.folder).pages, FINAL_MODE)
  return memory
}

/** Waits for both before it throws an error: no caller may continue a VM while its memory is being read. */
export async function bothEnded<T>(first: Promise<T>, second: Promise<unknown>): Promise<[T]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value]
}
