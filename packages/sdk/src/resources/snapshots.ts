import type { Snapshot } from '../generated/models.ts'
import type { List } from '../http/list.ts'
import type { QueryOptions } from '../http/routes.ts'
import { Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

/** The snapshots of sandboxes. `sandbox.snapshot()` makes one, `sandboxes.create({ fromSnapshot })` starts from it. */
export class Snapshots {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/snapshots'> = {}): List<Snapshot> {
    return this.#scope.list('GET /v1/snapshots', options)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#scope.with({ id }).get('GET /v1/snapshots/{id}', options)
  }

  /** Sandboxes that were made from it go on. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/snapshots/{id}', options)
  }
}
