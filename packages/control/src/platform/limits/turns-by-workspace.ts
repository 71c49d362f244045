import type { WorkspaceId } from '@offshoot/contract/ids'

/**
 * One after the other for each workspace of this process. Who waits for a row's lock holds a connection meanwhile: without
 * this, one workspace that creates a thousand sandboxes at once would take all connections from everybody else.
 * As many wait as there are requests under way, which the rate limit bounds.
 */
export class TurnsByWorkspace {
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
