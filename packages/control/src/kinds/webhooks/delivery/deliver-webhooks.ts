import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { RowTask } from '../../../platform/jobs/task.ts'
import type { WebhooksContext } from '../model/webhooks-context.ts'
import { AllowedAddresses } from './allowed-address.ts'
import {
  type DueDelivery,
  dueDeliveries,
  dueWebhooks,
  endLeaseOfWebhook,
  type LeasedWebhook,
  leasedWebhook,
  leaseWebhook,
  noteFailure,
  noteSuccess,
  recordAttempt,
  scheduleDelivery,
  webhookState,
} from './delivery-statements.ts'
import { retryDelay } from './retry-delay.ts'
import { ATTEMPT_MS, sendMessage } from './send-message.ts'

/** Webhooks that one process delivers for at the same time, and those of one workspace. */
export const WEBHOOKS_AT_ONCE = 24
const PER_WORKSPACE = 6
/** Messages under way to one webhook. */
const PER_WEBHOOK = 4
/** Milliseconds for which a job begins attempts. Then the next job continues, behind those of other webhooks. */
const TURN_MS = 10_000
/** Milliseconds after which a turn with free places looks for further deliveries, while its messages are under way. */
const LOOK_MS = 250
/** Seconds of a lease: above a turn and the attempts that it began. */
const LEASE_SECONDS = (TURN_MS + ATTEMPT_MS) / 1000 + 35
/** Milliseconds until the job of a workspace that has {@link PER_WORKSPACE} is tried again, at most twice as many. */
const BUSY_MS = 500

/**
 * Sends the due deliveries of one webhook. Each delivery is sent until an attempt succeeds or a day has passed; if a
 * process dies between an answer and its record, it is sent twice.
 *
 * An event's transaction adds a job, and so does every turn that leaves deliveries behind. A webhook that another
 * process holds needs nothing: the holder looks for deliveries again after it has released the webhook, so it finds
 * those of every job that ended because of it.
 */
export function deliverWebhooks(control: WebhooksContext): RowTask {
  const { config, database, lock } = control
  const { pool } = database
  const addresses = new AllowedAddresses(config.webhooks.allowed_networks, config.dns_servers)
  const permits = new FairLimit(PER_WORKSPACE, WEBHOOKS_AT_ONCE)
  return {
    name: 'deliver-webhook',
    due: (limit) => dueWebhooks(pool, limit),
    async work({ id, signal }) {
      const [state] = await webhookState(pool, id)
      if (state === undefined || state.is_held) return
      const release = permits.take(state.workspace_id)
      if (release === null) {
        await scheduleDelivery(pool, id, BUSY_MS * (1 + Math.random()))
        return
      }
      try {
        const holder = randomUUID()
        const [leased] = await leaseWebhook(pool, id, holder, lock.number, LEASE_SECONDS)
        if (leased === undefined) {
          const [now] = await webhookState(pool, id)
          if (now?.is_held === true) return
        } else {
          await new Turn(control, addresses, id, holder, signal).run()
        }
      } finally {
        release()
      }
      await scheduleDelivery(pool, id, 0)
    },
  }
}

/** One process's turn to deliver for a webhook. */
class Turn {
  readonly #control: WebhooksContext
  readonly #addresses: AllowedAddresses
  readonly #webhookId: string
  readonly #holder: string
  readonly #stopped: AbortSignal
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(control: WebhooksContext, addresses: AllowedAddresses, id: string, holder: string, stopped: AbortSignal) {
    this.#control = control
    this.#addresses = addresses
    this.#webhookId = id
    this.#holder = holder
    this.#stopped = stopped
  }

  async run(): Promise<void> {
    const { pool } = this.#control.database
    const endsAtMs = performance.now() + TURN_MS
    try {
      for (;;) {
        if (performance.now() < endsAtMs && !this.#stopped.aborted) await this.#begin()
        if (this.#underWay.size === 0) break
        await Promise.race([...this.#underWay.values(), delay(LOOK_MS, undefined, { ref: false })])
      }
    } finally {
      await Promise.allSettled(this.#underWay.values())
      await endLeaseOfWebhook(pool, this.#webhookId, this.#holder)
    }
    this.#stopped.throwIfAborted()
  }

  async #begin(): Promise<void> {
    const { pool } = this.#control.database
    const free = PER_WEBHOOK - this.#underWay.size
    if (free === 0) return
    const [webhook] = await leasedWebhook(pool, this.#webhookId, this.#holder)
    if (webhook === undefined) return
    for (const delivery of await dueDeliveries(pool, this.#webhookId, [...this.#underWay.keys()], free)) {
      const sent = this.#deliver(webhook, delivery).finally(() => this.#underWay.delete(delivery.id))
      this.#underWay.set(delivery.id, sent)
    }
  }

  async #deliver({ url, secret, previous_secret: previous }: LeasedWebhook, delivery: DueDelivery): Promise<void> {
    const { database, webhookSecrets } = this.#control
    const { id, payload, tries, expires_at: expiresAt } = delivery
    const secrets = [secret, ...(previous === null ? [] : [previous])].map((sealed) => webhookSecrets.open(sealed))
    const message = { url, secrets, id: `msg_${id}`, body: JSON.stringify(payload) }
    const { isGone, retryAfterMs, ...attempt } = await sendMessage(this.#addresses, message, this.#stopped)
    const { response_status: status, duration_ms: durationMs, error } = attempt
    const againMs = isGone ? null : retryDelay(tries + 1, expiresAt.getTime() - Date.now(), retryAfterMs)
    await recordAttempt(database.pool, id, JSON.stringify(attempt), status, durationMs, error, againMs)
    if (error === null) await noteSuccess(database.pool, this.#webhookId)
    else await noteFailure(database.pool, this.#webhookId, isGone)
  }
}
