import type {
  CloneVolumeBody,
  CreateVolumeBody,
  PatchVolumeBody,
  Volume as VolumeInfo,
  VolumeSnapshot,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import { Resource } from '../http/resource.ts'
import type { QueryOptions } from '../http/routes.ts'
import { idOf, type Named, Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type { VolumeInfo }

export type CreateVolumeOptions = CreateVolumeBody & CallOptions

/** A disk that outlives sandboxes. `await using` deletes a volume that the program has made. */
export class Volume extends Resource<'GET /v1/volumes/{name}', VolumeInfo> {
  readonly name: string
  readonly snapshots: VolumeSnapshots

  /** @internal */
  constructor(scope: Scope, info: VolumeInfo, isOwned: boolean) {
    const own = scope.with({ name: info.name })
    super('GET /v1/volumes/{name}', 'DELETE /v1/volumes/{name}', { scope: own, info, isOwned })
    this.name = info.name
    this.snapshots = new VolumeSnapshots(own)
  }

  /** Makes it larger, also while a sandbox uses it. @throws BadRequestError for a smaller size; LimitError */
  async resize(options: PatchVolumeBody & CallOptions): Promise<this> {
    return this.become(await this.scope.post('PATCH /v1/volumes/{name}', options))
  }

  /** Makes a volume with the content of this instant. @throws ConflictError if the name is taken */
  async clone(options: CloneVolumeBody & CallOptions): Promise<Volume> {
    return new Volume(this.scope, await this.scope.post('POST /v1/volumes/{name}/clone', options), true)
  }
}

/** The snapshots of a volume. `volumes.create({ fromSnapshot })` makes a volume of one. */
export class VolumeSnapshots {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Keeps the content of this instant. */
  async create(options: CallOptions = {}): Promise<VolumeSnapshot> {
    return this.#scope.post('POST /v1/volumes/{name}/snapshots', options)
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/volumes/{name}/snapshots'> = {}): List<VolumeSnapshot> {
    return this.#scope.list('GET /v1/volumes/{name}/snapshots', options)
  }

  /** It is no error if there is none. */
  async delete(snapshot: Named, options: CallOptions = {}): Promise<void> {
    const path = { id: idOf(snapshot) }
    await this.#scope.remove('DELETE /v1/volumes/{name}/snapshots/{id}', options, { path })
  }
}

/** The volumes of a workspace. */
export class Volumes {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes an empty volume, or one with the content of a snapshot. @throws ConflictError if the name is taken; LimitError */
  async create(options: CreateVolumeOptions): Promise<Volume> {
    return new Volume(this.#scope, await this.#scope.post('POST /v1/volumes', options), true)
  }

  /** @throws NotFoundError */
  async get(name: string, options: CallOptions = {}): Promise<Volume> {
    return new Volume(this.#scope, await this.#scope.with({ name }).get('GET /v1/volumes/{name}', options), false)
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/volumes'> = {}): List<Volume> {
    return this.#scope.list('GET /v1/volumes', options, (info) => new Volume(this.#scope, info, false))
  }

  /** It is no error if there is none. @throws ConflictError while a sandbox has it attached */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ name }).remove('DELETE /v1/volumes/{name}', options)
  }
}
