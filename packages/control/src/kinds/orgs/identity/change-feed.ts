import type { Change, ChangeKind } from '@offshoot/contract/change'
import type { Notifications } from '../../../platform/db/notifications.ts'

/** A change. `owner`: the user who owns the object; `null` if the whole workspace does. */
export interface Noted extends Change {
  readonly owner: string | null
}

/** `null`: changes may have been missed. */
type Follower = (changes: readonly Noted[] | null) => void

/** Passes each change to the followers of its workspace. PostgreSQL reports those of all processes (migration 0053). */
export class ChangeFeed {
  readonly #followers = new Map<string, Set<Follower>>()

  constructor(notifications: Notifications) {
    notifications.listen('changes', (payload) => this.#tell(payload))
  }

  /** @returns a function that ends this */
  follow(workspaceId: string, follower: Follower): () => void {
    const followers = this.#followers.get(workspaceId) ?? new Set()
    this.#followers.set(workspaceId, followers.add(follower))
    return () => {
      followers.delete(follower)
      if (followers.size === 0 && this.#followers.get(workspaceId) === followers) this.#followers.delete(workspaceId)
    }
  }

  #tell(payload: string | null): void {
    // Most processes have no follower of most changes.
    if (this.#followers.size === 0) return
    if (payload === null || payload === '') return this.#tellAll(null)
    const [workspaceId, kind, owner, ids] = JSON.parse(payload) as [string | null, ChangeKind, string | null, string[]]
    const changes = ids.map((id) => ({ kind, id, owner }))
    if (workspaceId === null) return this.#tellAll(changes)
    for (const follower of this.#followers.get(workspaceId) ?? []) follower(changes)
  }

  #tellAll(changes: readonly Noted[] | null): void {
    for (const followers of this.#followers.values()) for (const follower of followers) follower(changes)
  }
}
