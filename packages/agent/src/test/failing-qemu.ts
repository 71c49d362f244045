import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const SOURCE = join(import.meta.dirname, 'failing-qemu.c')
const NAME = 'qemu-system-x86_64'

/**
 * A QEMU that fails at a chosen moment: it writes {@link wordsAt} to its error output and ends (failing-qemu.c).
 */
export class FailingQemu {
  readonly path: string
  readonly #case: string
  readonly #count: string

  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.path = join(folder, NAME)
    this.#case = join(folder, 'case')
    this.#count = join(folder, 'count')
  }

  /** In a folder that every user can reach. */
  static async make(real: string): Promise<FailingQemu> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-failing-qemu-'))
    await chmod(folder, 0o755)
    const made = new FailingQemu(folder)
    const names = { REAL: real, CASE: made.#case, COUNT: made.#count }
    const defined = Object.entries(names).map(([name, path]) => `-D${name}=${JSON.stringify(path)}`)
    await promisify(execFile)('cc', ['-O1', '-Wall', '-Wextra', '-Werror', ...defined, '-o', made.path, SOURCE])
    await made.failAt(-1, 'never')
    return made
  }

  /**
   * @param launch number of the launch that fails, counted from 1 from now on; 0: every launch
   * @param moment `start`, `hang`, or a command of the monitor
   * @param time number of that command's execution that fails, counted from 1
   */
  async failAt(launch: number, moment: string, time = 1): Promise<void> {
    await writeFile(this.#case, `${launch} ${moment} ${time}\n`)
    await writeFile(this.#count, '0\n')
    await chmod(this.#case, 0o644)
    // Every VM's user must be able to increment it.
    await chmod(this.#count, 0o666)
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

export function wordsAt(moment: string): string {
  return `failing-qemu: I fail at ${moment}`
}
