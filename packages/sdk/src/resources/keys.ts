import type {
  AccessToken,
  AccessTokenBody,
  CreatedToken as CreatedKey,
  CreateSshCertificateBody,
  CreateSshKeyBody,
  SshCertificate,
  SshGateway,
  SshKey,
  Token as Key,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import type { Body, QueryOptions } from '../http/routes.ts'
import { idOf, type Named, Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type { CreatedKey, Key }

export type CreateKeyOptions = Omit<Body<'POST /v1/me/tokens'>, 'name' | 'label'> &
  CallOptions & { readonly name: string }

/** The API keys of a workspace. Only a JWT may use them, so a key cannot make keys. */
export class Keys {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes a key. Keep its `token`: it is shown only here. @throws LimitError */
  async create(options: CreateKeyOptions): Promise<CreatedKey> {
    return this.#scope.post('POST /v1/me/tokens', options)
  }

  /** Newest first, without what opens them. */
  list(options: QueryOptions<'GET /v1/me/tokens'> = {}): List<Key> {
    return this.#scope.list('GET /v1/me/tokens', options)
  }

  /** Revokes a key by its prefix, `ofs_` and 8 characters. It is no error if there is none. */
  async delete(prefix: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ prefix }).remove('DELETE /v1/me/tokens/{prefix}', options)
  }

  /** Revokes all keys that the user has made, in every workspace. */
  async deleteAll(options: CallOptions = {}): Promise<void> {
    await this.#scope.delete('DELETE /v1/me/tokens', options)
  }

  /** Makes a JWT of at most an hour for one workspace, with fewer rights. */
  async createAccessToken(options: AccessTokenBody & CallOptions = {}): Promise<AccessToken> {
    return this.#scope.post('POST /v1/me/access-tokens', options)
  }
}

/** How a user enters sandboxes by SSH. */
export class Ssh {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Where `ssh ID@HOST` leads, and the key by which one recognizes it. */
  async gateway(options: CallOptions = {}): Promise<SshGateway> {
    return this.#scope.get('GET /v1/ssh', options)
  }

  /** Signs a public key for an hour. */
  async createCertificate(options: CreateSshCertificateBody & CallOptions): Promise<SshCertificate> {
    return this.#scope.post('POST /v1/ssh-certificates', options)
  }

  /** Lets a public key in. @throws ConflictError if it is known, LimitError */
  async addKey(options: CreateSshKeyBody & CallOptions): Promise<SshKey> {
    return this.#scope.post('POST /v1/me/ssh-keys', options)
  }

  /** The user's keys, newest first. */
  keys(options: QueryOptions<'GET /v1/me/ssh-keys'> = {}): List<SshKey> {
    return this.#scope.list('GET /v1/me/ssh-keys', options)
  }

  /** It is no error if there is none. */
  async deleteKey(key: Named, options: CallOptions = {}): Promise<void> {
    const path = { key_id: idOf(key) }
    await this.#scope.remove('DELETE /v1/me/ssh-keys/{key_id}', options, { path })
  }
}
