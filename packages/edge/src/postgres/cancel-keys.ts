import type { SandboxId } from '@offshoot/contract/ids'

/**
 * Maps cancel keys to databases while their connections last: a cancel request is a separate connection that carries
 * only the key. If two databases issued the same key, both get the request, and each ignores a key that it does not
 * know.
 */
export class CancelKeys {
  readonly #databases = new Map<string, Set<SandboxId>>()

  /** @returns a function that removes the key */
  add(key: string, id: SandboxId): () => void {
    const ids = this.#databases.get(key) ?? new Set()
    this.#databases.set(key, ids.add(id))
    return () => {
      ids.delete(id)
      if (ids.size === 0) this.#databases.delete(key)
    }
  }

  of(key: string): readonly SandboxId[] {
    return [...(this.#databases.get(key) ?? [])]
  }
}
