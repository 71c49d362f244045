import { ApiError } from '@offshoot/contract/errors'
import type { BuildId, SandboxId, SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import type { LayerId } from '../../store/disks/layer-id.ts'

/** Of a sandbox, a snapshot or a template. */
export type ArrivalId = SandboxId | SnapshotId | BuildId

/** What this host receives at present. No sweep may remove what it names. */
export interface Arrival {
  readonly workspaceId: WorkspaceId
  /** Of a snapshot or template, its own id. */
  readonly moveId: string
  readonly layers: LayerId[]
  /** `NAME/FINGERPRINT`; `null` until it is known. */
  bake: string | null
  /** Ends the import. */
  readonly cancelling: AbortController
  /** Resolves when nothing of the import is under way. Never rejects. */
  readonly over: Promise<void>
}

/** The imports that are under way. */
export class Arrivals {
  readonly #arrivals = new Map<ArrivalId, Arrival>()

  get all(): IterableIterator<Arrival> {
    return this.#arrivals.values()
  }

  has(id: ArrivalId): boolean {
    return this.#arrivals.has(id)
  }

  /** @throws ApiError 409 if it is being received already */
  async receive<T>(
    id: ArrivalId,
    { workspaceId, moveId }: Pick<Arrival, 'workspaceId' | 'moveId'>,
    work: (arrival: Arrival) => Promise<T>,
  ): Promise<T> {
    if (this.#arrivals.has(id)) throw new ApiError('conflict', { detail: 'it is being received already' })
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const cancelling = new AbortController()
    const arrival: Arrival = { workspaceId, moveId, layers: [], bake: null, cancelling, over }
    this.#arrivals.set(id, arrival)
    try {
      return await work(arrival)
    } finally {
      this.#arrivals.delete(id)
      resolve()
    }
  }

  /**
   * Ends an import, if one is under way. Nothing of it is left when this resolves, unless it was complete.
   * @param workspaceId `null`: control itself asks. The import of another workspace goes on
   * @param moveId `null`: whichever move it is. @throws ApiError 409 if it is another one
   */
  async cancel(id: ArrivalId, workspaceId: WorkspaceId | null, moveId: string | null): Promise<void> {
    const arrival = this.#arrivals.get(id)
    if (arrival === undefined || (workspaceId !== null && workspaceId !== arrival.workspaceId)) return
    if (moveId !== null && arrival.moveId !== moveId) throw new ApiError('sandboxMoving', { detail: 'by another move' })
    arrival.cancelling.abort(new ApiError('notFound', { detail: 'it was deleted while it arrived' }))
    await arrival.over
  }
}
