import type { SandboxId } from '@offshoot/contract/ids'

/**
 * Which database each cancel key belongs to, for as long as its connection lasts: a cancel request is a connection of its own that says
 * nothing but the key. Two databases may have given the same one: then both are asked, and each knows its own.
 */
export class CancelKeys {
  readonly #databases = new Map<string, Set<SandboxId>>()

  /** @returns forgets it */
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
