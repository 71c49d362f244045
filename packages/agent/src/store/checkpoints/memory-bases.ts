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

/** A layer of memory that later checkpoints may use. */
export type Base = SealedMemory

/** The layers of a checkpoint's memory, the lowest first: its bases and its own layer. @param folder the folder with the files */
export function sealedMemory(folder: string, { memory }: Pick<Checkpoint, 'memory'>): SealedMemory[] {
  return memoryFiles(folder, memory.length - 1).flatMap((files, index) => {
    const seal = memory[index]
    return seal === undefined ? [] : [{ files, seal }]
  })
}

/**
 * The memory from which a running sandbox was woken. Its VM has the files mapped, so they occupy no additional disk space,
 * and the next hibernation writes only the differences.
 *
 *     checkpoint ──keep──► base ──link──► part of the next checkpoint
 *
 * A base is no checkpoint: nothing is ever restored from it. If it is lost, the next hibernation writes all memory. The
 * next checkpoint has its own links to the files, so that each checkpoint is complete.
 */
export class MemoryBases {
  readonly #files: VerifiedFiles
  readonly #read: (folder: string, signedFor: string) => Promise<Checkpoint>

  constructor(files: VerifiedFiles, read: (folder: string, signedFor: string) => Promise<Checkpoint>) {
    this.#files = files
    this.#read = read
  }

  /** Makes the checkpoint of a woken sandbox its base, in one step. It is no checkpoint any more. */
  async keep(checkpoint: string, base: string): Promise<void> {
    // A leftover of a hibernation whose agent was killed after the commit.
    await rm(base, { recursive: true, force: true })
    await rename(checkpoint, base)
    await removeCopies(base)
  }

  /**
   * The layers of a base, the lowest first; empty without a base.
   * @param checkpoint the folder in which it was a checkpoint
   * @throws Error if it differs from its seal; a damaged base must not be used
   */
  async offer(base: string, checkpoint: string, deadline: Deadline): Promise<readonly Base[]> {
    if (!(await isPresent(base))) return []
    const bases = sealedMemory(base, await this.#read(base, checkpoint))
    for (const {
      files: { pages, runs },
      seal,
    } of bases) {
      // The restore verifies the pages; nothing reads the file before.
      if ((await stat(pages)).size !== seal.pages.bytes) throw new Error('pages of a base were changed on disk')
      if (!(await this.#files.isUnchanged(runs, seal.runs, deadline)))
        throw new Error('runs of a base were changed on disk')
    }
    return bases
  }

  /** Hard-links the files of the bases into a checkpoint that needs them. */
  async link(bases: readonly MemoryFiles[], checkpoint: string): Promise<void> {
    for (const [index, { pages, runs }] of memoryFiles(checkpoint, bases.length).entries()) {
      const from = bases[index]
      if (from === undefined) return
      await this.#files.link(from.pages, pages)
      await this.#files.link(from.runs, runs)
    }
  }

  /** Removes the links of those of the `linked` bases that a checkpoint does not need after all: the upper ones. */
  async unlink(checkpoint: string, linked: number, needed: number): Promise<void> {
    for (const { pages, runs } of memoryFiles(checkpoint, linked).slice(needed, linked)) {
      await this.#files.unlink(pages)
      await this.#files.unlink(runs)
    }
  }
}
