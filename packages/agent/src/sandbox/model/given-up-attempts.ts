/** Milliseconds for which an attempt is remembered: longer than any create takes until its sandbox has an entry. */
const REMEMBERED_MS = 3_600_000

/**
 * Attempts to make a sandbox that control has given up. The request of one may still be under way: it verifies its snapshot before the
 * sandbox has an entry that could be deleted. A restart of the agent ends all requests.
 */
export class GivenUpAttempts {
  readonly #atMs = new Map<string, number>()

  note(attemptId: string, nowMs = performance.now()): void {
    for (const [id, atMs] of this.#atMs) if (nowMs - atMs >= REMEMBERED_MS) this.#atMs.delete(id)
    this.#atMs.set(attemptId, nowMs)
  }

  has(attemptId: string): boolean {
    return this.#atMs.has(attemptId)
  }
}
