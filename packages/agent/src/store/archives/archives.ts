import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import type { DataDir } from '../data-dir/data-dir.ts'
import { Semaphore } from '@offshoot/kit/semaphore'
import { Archive } from './archive.ts'

/** Files taken at the same time, of all guests: each is in memory meanwhile. */
const AT_ONCE = 2
const MAX_WAITING = 4096
const FOLDER = 'archive'

/** Whose archive it is: one object for as long as the sandbox is there. */
interface ArchiveOwner {
  readonly id: SandboxId
}

/** The archives of this agent's sandboxes. Each lies in its sandbox's folder, and goes with it. */
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

  /** One who takes or removes at a time. */
  exclusively<T>(sandbox: ArchiveOwner, task: () => Promise<T>): Promise<T> {
    let semaphore = this.#semaphores.get(sandbox)
    if (semaphore === undefined) this.#semaphores.set(sandbox, (semaphore = new Semaphore(1, MAX_WAITING)))
    return semaphore.run(task)
  }
}
