import { createHash } from 'node:crypto'
import { type EdgeApp, REQUESTS_PER_INSTANCE } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'

/** A request or an upgraded connection, from its beginning to its end. */
export interface UnderWay {
  /** The request became an upgraded connection, which may be idle; it no longer counts towards needed instances. */
  readonly upgraded: () => void
  readonly end: () => void
}

/**
 * Counts requests and connections per app, to choose the least busy instance and to compute how many instances are
 * needed.
 */
export class AppLoad {
  /** Requests and connections by sandbox. */
  readonly #connections = new Map<string, number>()
  /** Requests by app. */
  readonly #requests = new Map<string, number>()
  readonly #isAwake: (id: SandboxId) => boolean
  /** Called when a request needs more instances than the app has. */
  onShort: () => void = () => undefined

  /** @param isAwake whether an instance is known to be running, so that it can answer without a wake */
  constructor(isAwake: (id: SandboxId) => boolean) {
    this.#isAwake = isAwake
  }

  /**
   * Chooses the instance for a request: the awake one with the fewest connections, or else the first.
   * @param token the instance that answered this visitor before; `null` for a new visitor
   */
  pick({ sandbox_ids: ids }: EdgeApp, token: string | null): SandboxId | undefined {
    const all = ids as SandboxId[]
    if (all.length < 2) return all[0]
    const awake = all.filter((id) => this.#isAwake(id))
    const [first = all[0], ...others] = awake
    if (first === undefined) return undefined
    const before = token === null ? undefined : awake.find((id) => instanceToken(id) === token)
    return before ?? others.reduce((best, id) => (this.#at(id) < this.#at(best) ? id : best), first)
  }

  begin(app: EdgeApp, sandboxId: SandboxId): UnderWay {
    const requests = count(this.#requests, app.id)
    const connections = count(this.#connections, sandboxId)
    if (Math.min(this.needed(app.id), app.max_instances) > app.sandbox_ids.length) this.onShort()
    const end = () => {
      requests()
      connections()
    }
    return { upgraded: requests, end }
  }

  /** Number of instances needed, at least one. */
  needed(appId: string): number {
    return Math.max(1, Math.ceil((this.#requests.get(appId) ?? 0) / REQUESTS_PER_INSTANCE))
  }

  /** Apps that have requests now. */
  get busy(): Iterable<string> {
    return this.#requests.keys()
  }

  #at(id: SandboxId): number {
    return this.#connections.get(id) ?? 0
  }
}

/** Identifies an instance without revealing its sandbox id, which would grant access to all ports of the sandbox. */
export function instanceToken(id: SandboxId): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16)
}

/** @returns a function that decrements the counter, once */
function count(counts: Map<string, number>, key: string): () => void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    const left = (counts.get(key) ?? 0) - 1
    if (left > 0) counts.set(key, left)
    else counts.delete(key)
  }
}
