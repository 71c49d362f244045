import type { Change } from '@offshoot/sdk'
import type { Query, QueryClient } from '@tanstack/react-query'

/** Reads single changed entries of a long list, instead of the whole list. */
export type ListUpdate = (ids: readonly string[]) => Promise<void>

/**
 * Milliseconds for which changes are collected: shorter than what a person notices, and long enough that a fork of
 * sixteen is one request.
 */
const COLLECT_MS = 40
/** Further queries that show something of a kind. */
const RELATED: Readonly<Record<string, readonly unknown[]>> = {
  member: ['me'],
  sandbox: ['lineage'],
  snapshot: ['lineage'],
  workspace: ['me', 'limits'],
}
/** With more changes at once, a whole list is read again. */
const MAX_SINGLE_UPDATES = 20

/**
 * Reads again what changed, as the service reports it. Keys of queries have the form `[KIND, 'list', …]` or
 * `[KIND, ID, …]`, where KIND is that of the changes.
 */
export class Refresher {
  readonly #queries: QueryClient
  readonly #ids = new Map<string, Set<string>>()
  readonly #updates = new Map<string, ListUpdate>()
  #isWaiting = false

  constructor(queries: QueryClient) {
    this.#queries = queries
  }

  /** Uses `update` for the lists of a kind. @returns a function that ends that */
  updateListsOf(kind: string, update: ListUpdate): () => void {
    this.#updates.set(kind, update)
    return () => this.#updates.delete(kind)
  }

  changed({ kind, id }: Change): void {
    const ids = this.#ids.get(kind) ?? new Set()
    this.#ids.set(kind, ids.add(id))
    if (this.#isWaiting) return
    this.#isWaiting = true
    setTimeout(() => this.#refresh(), COLLECT_MS)
  }

  /** Call this when changes may have been missed. */
  everything(): void {
    void this.#queries.invalidateQueries()
  }

  #refresh(): void {
    const changed = [...this.#ids]
    this.#ids.clear()
    this.#isWaiting = false
    for (const [kind, ids] of changed) {
      const update = ids.size > MAX_SINGLE_UPDATES ? undefined : this.#updates.get(kind)
      void update?.([...ids])
      const isConcerned = ({ queryKey: [itsKind, which] }: Query) =>
        itsKind === kind
          ? which === 'list'
            ? update === undefined
            : ids.has(which as string)
          : RELATED[kind]?.includes(itsKind) === true
      void this.#queries.invalidateQueries({ predicate: isConcerned })
    }
  }
}
