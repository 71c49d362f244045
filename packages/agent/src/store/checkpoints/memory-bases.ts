import { rename, rm, stat } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { isPresent } from '../ledger/is-present.ts'
import { memoryFiles, type MemoryFiles } from './checkpoint-files.ts'
import { removeCopies } from './compressed-memory.ts'
import type { Checkpoint, MemorySeal } from './checkpoint.ts'
import type { VerifiedFiles } from './verified-files.ts'

/** A layer of a checkpoint's memory. */
export interface SealedMemory {
  readonly files: MemoryFiles
  readonly seal: MemorySeal
}

/** A layer of memory that a later checkpoint may lie over. */
export type Base = SealedMemory

/** The layers of a checkpoint's memory, the lowest first: its bases, and its own. @param folder that has the files */
export function sealedMemory(folder: string, { memory }: Pick<Checkpoint, 'memory'>): SealedMemory[] {
  return memoryFiles(folder, memory.length - 1).flatMap((files, index) => {
    const seal = memory[index]
    return seal === undefined ? [] : [{ files, seal }]
  })
}

/**
 * The memory that a running sandbox was woken from. Its VM has the files mapped, so that they take no room beside it, and
 * the next hibernation writes only what differs from them.
 *
 *     checkpoint ──keep──► base ──link──► part of the next checkpoint
 *
 * A base is no checkpoint: nothing is ever restored from it, and to lose it makes the next hibernation write more. The next
 * checkpoint has its own links to the files, so that each checkpoint owns all that it needs.
 */
export class MemoryBases {
  readonly #files: VerifiedFiles
  readonly #read: (folder: string, signedFor: string) => Promise<Checkpoint>

  constructor(files: VerifiedFiles, read: (folder: string, signedFor: string) => Promise<Checkpoint>) {
    this.#files = files
    this.#read = read
  }

  /** Makes the checkpoint that a sandbox was woken from its base, in one step: it is no checkpoint from then on. */
  async keep(checkpoint: string, base: string): Promise<void> {
    // Of a hibernation whose agent was killed after the commit.
    await rm(base, { recursive: true, force: true })
    await rename(checkpoint, base)
    await removeCopies(base)
  }

  /**
   * The layers of a base, the lowest first; none where there is no base.
   * @param checkpoint the folder that it was in as a checkpoint
   * @throws Error when it is not what was sealed; a base that is damaged serves nobody
   */
  async offer(base: string, checkpoint: string, deadline: Deadline): Promise<readonly Base[]> {
    if (!(await isPresent(base))) return []
    const bases = sealedMemory(base, await this.#read(base, checkpoint))
    for (const {
      files: { pages, runs },
      seal,
    } of bases) {
      // The pages are checked when they are restored: nothing is read from the file before.
      if ((await stat(pages)).size !== seal.pages.bytes) throw new Error('pages of a base were changed on disk')
      if (!(await this.#files.isUnchanged(runs, seal.runs, deadline)))
        throw new Error('runs of a base were changed on disk')
    }
    return bases
  }

  /** Gives a checkpoint that was captured over them names of its own for their files. */
  async link(bases: readonly Base[], checkpoint: string): Promise<void> {
    for (const [index, { pages, runs }] of memoryFiles(checkpoint, bases.length).entries()) {
      const from = bases[index]?.files
      if (from === undefined) return
      await this.#files.link(from.pages, pages)
      await this.#files.link(from.runs, runs)
    }
  }
}
