import { chmod } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { checkpointFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { MemoryImage } from './memory-image.ts'
import { FINAL_MODE, type SavedMemory, type SaveMemory } from './save-memory.ts'
import type { Thread } from './thread.ts'

/** Of the threads that copy an image. */
const SHARES = 2

/** For want of memory, say. */
export class ImageLost extends Error {
  override readonly name = 'ImageLost'
}

/** What a memory is copied to, and by whom. */
export interface MemoryCopy {
  /** Becomes the checkpoint; not there yet, or with nothing but empty `pages` and `runs` for who opened them ahead. */
  readonly folder: string
  /** Folder of the bake that the VM was restored from, at whatever remove. */
  readonly bake: string
  readonly memoryMib: number
  /** See `SaveMemory.bases`; an image is copied without. */
  readonly bases?: readonly MemoryFiles[]
  readonly saving: Pick<Thread, 'ask'>
  /** Helps with images: new pages of a file cost more than their copy, and two CPUs make them faster than one. */
  readonly savingBeside: Pick<Thread, 'ask'>
}

interface Part {
  readonly thread: Pick<Thread, 'ask'>
  readonly share: SaveMemory['share']
}

/** @param process that has the memory, and does not change it meanwhile */
export async function copyMemory(
  { pid }: ProcessIdentity,
  { folder, bake, memoryMib, bases = [], saving }: MemoryCopy,
  deadline: Deadline,
  { thread, share }: Part = { thread: saving, share: null },
): Promise<SavedMemory> {
  const { pages, runs } = checkpointFiles(folder)
  const place = { bakeMemory: bakeFiles(bake).memory, memoryBytes: memoryMib * 1024 * 1024 }
  return thread.ask('save', { pid, ...place, pages, runs, share, bases: share === null ? bases : [] }, deadline)
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
    // One that is ending looks alive for a while. Whatever else it was is met again, and told, at rest.
    throw new ImageLost('the image of a memory could not be copied', { cause })
  })
  if (!(await isAlive(image.process))) throw new ImageLost('the image of a memory ended before it was copied')
  await chmod(checkpointFiles(options.folder).pages, FINAL_MODE)
  return memory
}

/** Both end before either's failure is told: nobody must continue a VM while its memory is being read. */
export async function bothEnded<T>(first: Promise<T>, second: Promise<unknown>): Promise<[T]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value]
}
