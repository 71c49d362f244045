import { createHash } from 'node:crypto'
import { type EdgeApp, REQUESTS_PER_INSTANCE } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'

/** A request, or an upgraded connection, from its beginning to its end. */
export interface UnderWay {
  /** From here on it is an open connection, which may have nothing to say: it takes no further instance. */
  readonly upgraded: () => void
  readonly end: () => void
}

/** What is under way at each app: which of its instances has the least to do, and how many it takes. */
export class AppLoad {
  /** Of everything, by sandbox. */
  readonly #connections = new Map<string, number>()
  /** Of requests, by app. */
  readonly #requests = new Map<string, number>()
  readonly #isAwake: (id: SandboxId) => boolean
  /** Told when a request takes an app above what its instances are to answer. */
  onShort: () => void = () => undefined

  /** @param isAwake whether an instance can answer without being woken, as far as is known */
  constructor(isAwake: (id: SandboxId) => boolean) {
    this.#isAwake = isAwake
  }

  /**
   * The instance for one more request: of those that are awake the one with the least under way, else the first.
   * @param token of the instance that the visitor was answered by before, `null` for whoever comes first
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

  /** How many instances it takes, the one that an idle app has included. */
  needed(appId: string): number {
    return Math.max(1, Math.ceil((this.#requests.get(appId) ?? 0) / REQUESTS_PER_INSTANCE))
  }

  /** Apps that are asked for just now. */
  get busy(): Iterable<string> {
    return this.#requests.keys()
  }

  #at(id: SandboxId): number {
    return this.#connections.get(id) ?? 0
  }
}

/** Tells instances apart, and nothing else of them: who knows the id of a sandbox reaches all of its ports. */
export function instanceToken(id: SandboxId): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16)
}

/** @returns what takes it back, once */
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
