import type { CreatedPreviewLink, PreviewLink, PreviewLinkBody } from '../generated/models.ts'
import type { List } from '../http/list.ts'
import type { QueryOptions } from '../http/routes.ts'
import { idOf, type Named, type Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'

/** Where the links of a sandbox's port and those of an app are. */
const ROUTES = {
  port: [
    'POST /v1/sandboxes/{id}/ports/{port}/links',
    'GET /v1/sandboxes/{id}/ports/{port}/links',
    'DELETE /v1/sandboxes/{id}/ports/{port}/links/{link_id}',
  ],
  app: ['POST /v1/apps/{id}/links', 'GET /v1/apps/{id}/links', 'DELETE /v1/apps/{id}/links/{link_id}'],
} as const

/** The links that open a private preview. */
export class Links {
  readonly #scope: Scope
  readonly #routes: (typeof ROUTES)['port' | 'app']

  /** @internal */
  constructor(scope: Scope, kind: 'port' | 'app') {
    this.#scope = scope
    this.#routes = ROUTES[kind]
  }

  /** Makes a link. Its `url` opens the preview until it expires, and is shown only here. */
  async create(options: PreviewLinkBody & CallOptions = {}): Promise<CreatedPreviewLink> {
    return this.#scope.post(this.#routes[0], options)
  }

  /** The links that have not expired, newest first, without what opens them. */
  list(options: QueryOptions<'GET /v1/apps/{id}/links'> = {}): List<PreviewLink> {
    return this.#scope.list(this.#routes[1], options)
  }

  /** Revokes a link. It is no error if it is gone already. */
  async delete(link: Named, options: CallOptions = {}): Promise<void> {
    const path = { link_id: idOf(link) }
    await this.#scope.remove(this.#routes[2], options, { path })
  }
}
