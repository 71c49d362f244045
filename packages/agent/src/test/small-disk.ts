import { existsSync } from 'node:fs'
import { open, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../machine/host/run-program.ts'

/** A mount needs a loop device, which only root can use, and which not every container has. */
export const canMountDisk = process.getuid?.() === 0 && existsSync('/dev/loop-control')

const MIB = 1024 * 1024
/** Milliseconds for killed processes to release the mount. */
const UNMOUNT_MS = 30_000

const run = (program: string, args: string[]) => runProgram(program, args, Deadline.after(20_000, program))

/** A small file system in a sparse file, which tests can fill up. */
export class SmallDisk {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** @param folder an existing, empty folder */
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

  /** Allocates blocks without writing them. */
  async fill(leftBytes: number): Promise<void> {
    await run('fallocate', ['-l', String((await this.freeBytes()) - leftBytes), this.#filler])
  }

  /** Fills the disk to the last block. Needs writes and syncs, because ext4 delays the allocation of blocks. */
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

  /** Frees the space that {@link fill} took. */
  async empty(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  /** Unmounts; the empty folder stays. */
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
