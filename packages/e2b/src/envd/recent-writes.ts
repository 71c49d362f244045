import { posix } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'

/** Milliseconds after a write until its events have arrived. */
const EVENTS_WITHIN_MS = 10_000

/**
 * Files that clients write through this process. Control writes a file under no name and then gives it one, so a watch
 * sees that it was created. E2B's service creates the file, gives it to its user and writes it, and its clients wait for
 * these three events.
 */
export class RecentWrites {
  /** Writes of each file. */
  readonly #writes = new Map<string, number>()

  /** Runs a write. Its file counts as written from now on. */
  async during<T>(id: SandboxId, path: string, write: () => Promise<T>): Promise<T> {
    const key = keyOf(id, path)
    this.#writes.set(key, (this.#writes.get(key) ?? 0) + 1)
    try {
      return await write()
    } finally {
      setTimeout(() => this.#end(key), EVENTS_WITHIN_MS).unref()
    }
  }

  has(id: SandboxId, path: string): boolean {
    return this.#writes.has(keyOf(id, path))
  }

  #end(key: string): void {
    const left = (this.#writes.get(key) ?? 1) - 1
    if (left === 0) this.#writes.delete(key)
    else this.#writes.set(key, left)
  }
}

function keyOf(id: SandboxId, path: string): string {
  return `${id}${posix.normalize(path)}`
}
