import type {
  CreateWebhookBody,
  PatchWebhookBody,
  RedeliverBody,
  RotateSecretBody,
  Webhook as WebhookInfo,
  WebhookDelivery,
  WebhookDeliveryDetails,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import { Resource } from '../http/resource.ts'
import type { QueryOptions } from '../http/routes.ts'
import { idOf, type Named, Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type { WebhookInfo }

export type CreateWebhookOptions = CreateWebhookBody & CallOptions

/** An address that gets the events of the workspace. `await using` deletes a webhook that the program has made. */
export class Webhook extends Resource<'GET /v1/webhooks/{id}', WebhookInfo> {
  readonly id: string
  /** Verifies the messages (Standard Webhooks). Known only after `create` and `rotateSecret`, else `null`. */
  secret: string | null
  readonly deliveries: WebhookDeliveries

  /** @internal */
  constructor(scope: Scope, info: WebhookInfo, secret: string | null) {
    const own = scope.with({ id: info.id })
    super('GET /v1/webhooks/{id}', 'DELETE /v1/webhooks/{id}', { scope: own, info, isOwned: secret !== null })
    this.id = info.id
    this.secret = secret
    this.deliveries = new WebhookDeliveries(own)
  }

  /** Changes its address and filters. `enabled: true` begins anew with the next event. @throws BadRequestError */
  async update(options: PatchWebhookBody & CallOptions): Promise<this> {
    return this.become(await this.scope.post('PATCH /v1/webhooks/{id}', options))
  }

  /** Makes a new {@link Webhook.secret}. The old one signs too for `overlapSeconds`, a day by default. */
  async rotateSecret(options: RotateSecretBody & CallOptions = {}): Promise<this> {
    const { secret, ...info } = await this.scope.post('POST /v1/webhooks/{id}/rotate-secret', options)
    this.secret = secret
    return this.become(info)
  }

  /** Sends a message of the type `webhook.test`. */
  async test(options: CallOptions = {}): Promise<WebhookDelivery> {
    return this.scope.call('POST /v1/webhooks/{id}/test', options)
  }

  /** Sends all failed messages since a time again, at most 10,000, and returns how many. */
  async redeliver(options: RedeliverBody & CallOptions): Promise<number> {
    const { count } = await this.scope.post('POST /v1/webhooks/{id}/redeliver', options)
    return count
  }
}

/** The messages to a webhook. */
export class WebhookDeliveries {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/webhooks/{id}/deliveries'> = {}): List<WebhookDelivery> {
    return this.#scope.list('GET /v1/webhooks/{id}/deliveries', options)
  }

  /** One with its body and its last attempts. @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<WebhookDeliveryDetails> {
    return this.#scope.with({ delivery_id: id }).get('GET /v1/webhooks/{id}/deliveries/{delivery_id}', options)
  }

  /** Sends one again. @throws NotFoundError, ConflictError */
  async redeliver(delivery: Named, options: CallOptions = {}): Promise<WebhookDelivery> {
    const path = { delivery_id: idOf(delivery) }
    return this.#scope.call('POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver', { ...options, path })
  }
}

/** The webhooks of a workspace. */
export class Webhooks {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Sends events to an address from now on. Keep its `secret`: it is shown only here. @throws LimitError */
  async create(options: CreateWebhookOptions): Promise<Webhook> {
    const { secret, ...info } = await this.#scope.post('POST /v1/webhooks', options)
    return new Webhook(this.#scope, info, secret)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return new Webhook(this.#scope, await this.#scope.with({ id }).get('GET /v1/webhooks/{id}', options), null)
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/webhooks'> = {}): List<Webhook> {
    return this.#scope.list('GET /v1/webhooks', options, (info) => new Webhook(this.#scope, info, null))
  }

  /** Deletes a webhook with its deliveries. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/webhooks/{id}', options)
  }
}
