import type { WorkspaceId } from '@offshoot/contract/ids'

/**
 * Serializes work per workspace within this process. Work that waits for a row lock holds a database connection.
 * Without this, a workspace that creates a thousand sandboxes at once would take every connection of the pool. The
 * queue is bounded by the rate limit.
 */
export class WorkspaceQueue {
  readonly #last = new Map<WorkspaceId, Promise<void>>()

  async run<T>(workspaceId: WorkspaceId, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(workspaceId)
    const turn = Promise.withResolvers<void>()
    this.#last.set(workspaceId, turn.promise)
    await before
    try {
      return await work()
    } finally {
      turn.resolve()
      if (this.#last.get(workspaceId) === turn.promise) this.#last.delete(workspaceId)
    }
  }
}
