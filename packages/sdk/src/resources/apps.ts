import type {
  App as AppInfo,
  AppDomain,
  CreateAppBody,
  DeployBody,
  PatchAppBody,
  PostAppDomainBody,
  RollbackBody,
} from '../generated/models.ts'
import { followLines } from '../http/follow.ts'
import type { List } from '../http/list.ts'
import { Resource } from '../http/resource.ts'
import type { QueryOptions } from '../http/routes.ts'
import { Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { Links } from '../sandboxes/links.ts'
import { Deployment } from './deployment.ts'

export type { AppInfo }

export type CreateAppOptions = CreateAppBody & CallOptions
export type ChangeAppOptions = PatchAppBody & CallOptions

/** A git repository that is served at an address. `await using` deletes an app that the program has made. */
export class App extends Resource<'GET /v1/apps/{id}', AppInfo> {
  readonly id: string
  readonly domains: AppDomains
  /** The links that open the app while its `visibility` is `private`. */
  readonly links: Links

  /** @internal */
  constructor(scope: Scope, info: AppInfo, isOwned: boolean) {
    const own = scope.with({ id: info.id })
    super('GET /v1/apps/{id}', 'DELETE /v1/apps/{id}', { scope: own, info, isOwned })
    this.id = info.id
    this.domains = new AppDomains(own)
    this.links = new Links(own, 'app')
  }

  /**
   * Changes the settings. They take effect with the next deploy, `visibility` at once. `env` replaces all variables, of
   * which the service shows the names only.
   */
  async update(options: ChangeAppOptions): Promise<this> {
    return this.become(await this.scope.post('PATCH /v1/apps/{id}', options))
  }

  /**
   * Begins to deploy a branch, a tag or a commit; the branch of the app by default:
   *
   *     const deployment = await app.deploy()
   *     for await (const line of deployment.followLogs()) console.log(line)
   *     await deployment.wait()
   */
  async deploy(options: DeployBody & CallOptions = {}): Promise<Deployment> {
    return new Deployment(this.scope, await this.scope.post('POST /v1/apps/{id}/deploys', options))
  }

  /** Begins to bring back the version before, or one that was live. @throws ConflictError if there is none */
  async rollback(options: RollbackBody & CallOptions = {}): Promise<Deployment> {
    return new Deployment(this.scope, await this.scope.post('POST /v1/apps/{id}/rollback', options))
  }

  /** @throws NotFoundError */
  async getDeployment(id: string, options: CallOptions = {}): Promise<Deployment> {
    const scope = this.scope.with({ deployment_id: id })
    const { buildLogs: _logs, ...info } = await scope.get('GET /v1/apps/{id}/deploys/{deployment_id}', options)
    return new Deployment(this.scope, info)
  }

  /** Newest first. */
  deployments(options: QueryOptions<'GET /v1/apps/{id}/deploys'> = {}): List<Deployment> {
    return this.scope.list('GET /v1/apps/{id}/deploys', options, (info) => new Deployment(this.scope, info))
  }

  /** The previews of open pull requests, newest first. */
  previews(options: QueryOptions<'GET /v1/apps/{id}/previews'> = {}): List<App> {
    return this.scope.list('GET /v1/apps/{id}/previews', options, (info) => new App(this.scope, info, false))
  }

  /** The output of the version that serves, until now, as text. */
  async logs(options: CallOptions = {}): Promise<string> {
    return this.scope.transport.text(this.scope.request('GET /v1/apps/{id}/runtime-logs', options))
  }

  /** The lines of that output, then new ones, also of later versions, until the app is deleted. */
  followLogs(options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    const request = this.scope.request('GET /v1/apps/{id}/runtime-logs', { ...options, query: { follow: true } })
    return followLines(this.scope.transport, request)
  }
}

/** The domains of an app. */
export class AppDomains {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /**
   * Adds a domain, or looks again for the DNS record of one that is `pending`. `record` is the one to create.
   * @throws BadRequestError, LimitError
   */
  async add(domain: string, options: Omit<PostAppDomainBody, 'domain'> & CallOptions = {}): Promise<AppDomain> {
    return this.#scope.post('POST /v1/apps/{id}/domains', { ...options, domain } as CallOptions, { isIdempotent: true })
  }

  /** Oldest first. */
  list(options: QueryOptions<'GET /v1/apps/{id}/domains'> = {}): List<AppDomain> {
    return this.#scope.list('GET /v1/apps/{id}/domains', options)
  }

  /** It is no error if there is none. */
  async delete(domain: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.remove('DELETE /v1/apps/{id}/domains/{domain}', options, { path: { domain } })
  }

  /** Removes the uploaded certificate of a domain. It is no error if there is none. */
  async deleteCertificate(domain: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.remove('DELETE /v1/apps/{id}/domains/{domain}/certificate', options, { path: { domain } })
  }
}

/** The apps of a workspace. */
export class Apps {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes an app. Nothing runs before its first {@link App.deploy}. @throws ConflictError if the name is taken */
  async create(options: CreateAppOptions): Promise<App> {
    return new App(this.#scope, await this.#scope.post('POST /v1/apps', options), true)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<App> {
    return new App(this.#scope, await this.#scope.with({ id }).get('GET /v1/apps/{id}', options), false)
  }

  /** Newest first, without previews of pull requests. */
  list(options: QueryOptions<'GET /v1/apps'> = {}): List<App> {
    return this.#scope.list('GET /v1/apps', options, (info) => new App(this.#scope, info, false))
  }

  /** Deletes an app with all its sandboxes. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/apps/{id}', options)
  }
}
