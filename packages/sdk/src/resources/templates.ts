import type { Template } from '../generated/models.ts'
import type { List } from '../http/list.ts'
import type { QueryOptions } from '../http/routes.ts'
import { Scope, split } from '../http/scope.ts'
import type { CallOptions, QueryValue, Transport } from '../http/transport.ts'
import type { FileContent } from '../sandboxes/files.ts'
import { TemplateBuild } from '../sandboxes/template-build.ts'

/** What the new template is like. */
export type BuildTemplateOptions = QueryOptions<'POST /v1/templates/build'>

/** The templates of a workspace, with those that the service offers to all. */
export class Templates {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** By name. */
  list(options: QueryOptions<'GET /v1/templates'> = {}): List<Template> {
    return this.#scope.list('GET /v1/templates', options)
  }

  /** @throws NotFoundError */
  async get(name: string, options: CallOptions = {}): Promise<Template> {
    return this.#scope.with({ name }).get('GET /v1/templates/{name}', options)
  }

  /** Sandboxes of it go on. It is no error if there is none. @throws AuthenticationError for a template of the service */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ name }).remove('DELETE /v1/templates/{name}', options)
  }

  /**
   * Uploads an archive (tar, `docker save` or an OCI layout, perhaps compressed) and begins to build a template of it:
   *
   *     const build = await client.templates.build(archive, { name: 'web', startCmd: 'node /app/server.js' })
   *     for await (const { percent, line } of build.followLogs()) console.log(percent, line)
   *     await build.wait()
   *
   * A lost connection is not retried: the build may have begun.
   * @throws ConflictError if the name is taken, unless `replace`; LimitError
   */
  async build(archive: FileContent, options: BuildTemplateOptions): Promise<TemplateBuild> {
    const { call, fields } = split(options)
    const info = await this.#scope.call('POST /v1/templates/build', {
      ...call,
      query: fields as Record<string, QueryValue>,
      body: archive,
      headers: { 'content-type': 'application/x-tar' },
    })
    return new TemplateBuild(this.#scope, info)
  }

  /** A build by its id, also one of a sandbox's template. @throws NotFoundError */
  async getBuild(id: string, options: CallOptions = {}): Promise<TemplateBuild> {
    return new TemplateBuild(this.#scope, await this.#scope.with({ id }).get('GET /v1/builds/{id}', options))
  }

  /** The builds of all templates, newest first. `name` finds those of one template. */
  builds(options: QueryOptions<'GET /v1/templates/builds'> = {}): List<TemplateBuild> {
    return this.#scope.list('GET /v1/templates/builds', options, (info) => new TemplateBuild(this.#scope, info))
  }
}
