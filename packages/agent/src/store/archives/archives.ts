import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import type { DataDir } from '../data-dir/data-dir.ts'
import { Semaphore } from '@offshoot/kit/semaphore'
import { Archive } from './archive.ts'

/** Concurrent transfers from all guests. Each holds a whole file in memory. */
const AT_ONCE = 2
const MAX_WAITING = 4096
const FOLDER = 'archive'

/** The sandbox that owns an archive. The same object as long as the sandbox exists. */
interface ArchiveOwner {
  readonly id: SandboxId
}

/** The archives of this agent's sandboxes. Each is in its sandbox's folder, and is deleted with it. */
export class Archives {
  readonly transfers = new Semaphore(AT_ONCE, MAX_WAITING)
  readonly #dir: Pick<DataDir, 'sandbox'>
  readonly #opened = new WeakMap<ArchiveOwner, Promise<Archive>>()
  readonly #semaphores = new WeakMap<ArchiveOwner, Semaphore>()

  constructor(dir: Pick<DataDir, 'sandbox'>) {
    this.#dir = dir
  }

  of(sandbox: ArchiveOwner): Promise<Archive> {
    let opened = this.#opened.get(sandbox)
    if (opened === undefined) {
      opened = Archive.open(join(this.#dir.sandbox(sandbox.id), FOLDER))
      this.#opened.set(sandbox, opened)
      opened.catch(() => this.#opened.delete(sandbox))
    }
    return opened
  }

  /** Runs a task that adds or removes files, one at a time per archive. */
  exclusively<T>(sandbox: ArchiveOwner, task: () => Promise<T>): Promise<T> {
    let semaphore = this.#semaphores.get(sandbox)
    if (semaphore === undefined) this.#semaphores.set(sandbox, (semaphore = new Semaphore(1, MAX_WAITING)))
    return semaphore.run(task)
  }
}
