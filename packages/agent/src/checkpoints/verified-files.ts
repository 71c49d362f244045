import { stat } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import type { FileSeal } from './checkpoint.ts'
import type { Thread } from './thread.ts'

/** Files that are remembered; of more the oldest are read again. */
const MAX_FILES = 65_536

/** What the file system changes with every change of a file. */
interface Seen {
  readonly ino: bigint
  readonly size: bigint
  readonly ctimeNs: bigint
}

/** What files are, each read through once in an agent's life unless it was touched since. */
export class VerifiedFiles {
  readonly #thread: Thread
  readonly #known = new Map<string, { readonly seen: Seen; readonly seal: FileSeal }>()

  constructor(thread: Thread) {
    this.#thread = thread
  }

  /** What a file is that was just written, and on the disk from now on. */
  async seal(path: string, deadline: Deadline): Promise<FileSeal> {
    return this.#seal(path, true, deadline)
  }

  /** @returns whether it is what it was when it was sealed; false when it is missing, too */
  async isUnchanged(path: string, { bytes, sha256 }: FileSeal, deadline: Deadline): Promise<boolean> {
    try {
      const now = await this.#seal(path, false, deadline)
      return now.bytes === bytes && now.sha256 === sha256
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  async #seal(path: string, isDurable: boolean, deadline: Deadline): Promise<FileSeal> {
    const seen = await look(path)
    const known = this.#known.get(path)
    if (known && isSame(known.seen, seen)) return known.seal
    const seal = await this.#thread.ask('seal', { path, isDurable }, deadline)
    // Written to while it was read: what was read is then not what it is, and is not remembered.
    if (isSame(seen, await look(path))) this.#remember(path, seen, seal)
    return seal
  }

  #remember(path: string, seen: Seen, seal: FileSeal): void {
    this.#known.delete(path)
    this.#known.set(path, { seen, seal })
    const oldest = this.#known.keys().next()
    if (this.#known.size > MAX_FILES && !oldest.done) this.#known.delete(oldest.value)
  }
}

async function look(path: string): Promise<Seen> {
  const { ino, size, ctimeNs } = await stat(path, { bigint: true })
  return { ino, size, ctimeNs }
}

function isSame(a: Seen, b: Seen): boolean {
  return a.ino === b.ino && a.size === b.size && a.ctimeNs === b.ctimeNs
}
