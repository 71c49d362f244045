import { existsSync } from 'node:fs'
import { open, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../machine/host/run-program.ts'

/** A file system of its own takes a loop device, which only root can have, and not in every container. */
export const canMountDisk = process.getuid?.() === 0 && existsSync('/dev/loop-control')

const MIB = 1024 * 1024
/** Milliseconds for the last of those that were killed to let go of it. */
const UNMOUNT_MS = 30_000

const run = (program: string, args: string[]) => runProgram(program, args, Deadline.after(20_000, program))

/** A file system in a sparse file, mounted at a folder, to be filled and emptied. */
export class SmallDisk {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** @param folder is there, and empty */
  static async mount(folder: string, bytes: number): Promise<SmallDisk> {
    const disk = new SmallDisk(folder)
    await writeFile(disk.#image, '')
    await truncate(disk.#image, bytes)
    await run('mkfs.ext4', ['-q', '-m', '0', disk.#image])
    await run('mount', ['-o', 'loop', disk.#image, folder])
    return disk
  }

  get #image(): string {
    return `${this.#folder}.ext4`
  }

  get #filler(): string {
    return join(this.#folder, 'filler')
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#folder)
    return bavail * bsize
  }

  /** Blocks are given out without being written. */
  async fill(leftBytes: number): Promise<void> {
    await run('fallocate', ['-l', String((await this.freeBytes()) - leftBytes), this.#filler])
  }

  /** Down to the last block, which the file system gives out only after it has written what it had put off. */
  async fillWhole(): Promise<void> {
    for (const bytes of [MIB, 4096, 4096]) {
      const file = await open(this.#filler, 'a')
      try {
        for (;;) {
          await file.write(Buffer.alloc(bytes))
          await file.sync()
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    }
  }

  /** Takes away what filled it. */
  async empty(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  /** The folder stays, empty. */
  async unmount(): Promise<void> {
    const endsAtMs = performance.now() + UNMOUNT_MS
    for (;;) {
      try {
        await run('umount', [this.#folder])
        break
      } catch (error) {
        if (performance.now() > endsAtMs) throw error
        await wait(100)
      }
    }
    await rm(this.#image)
  }
}
