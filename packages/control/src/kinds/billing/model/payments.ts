import type { PaidPlan } from '@offshoot/contract/billing'
import type { StripeSettings } from '@offshoot/contract/control-settings'
import { ApiError } from '@offshoot/contract/errors'
import { Stripe } from 'stripe'

/** Milliseconds for one call, and the number of retries of a call without an answer. */
const TIMEOUT_MS = 8_000
const RETRIES = 1
/** Subscriptions of one customer that control examines, newest first. */
const MAX_SUBSCRIPTIONS = 20

/** The provider's state of a workspace's subscription. */
export interface Subscription {
  readonly id: string
  readonly status: string
  /** `null`: the price belongs to none of the plans. */
  readonly plan: PaidPlan | null
}

/** Statuses of subscriptions that have ended. */
const ENDED: ReadonlySet<string> = new Set(['canceled', 'incomplete_expired'])
/** Statuses of subscriptions that were never paid. They count as none. */
const NEVER_BEGAN: ReadonlySet<string> = new Set(['incomplete', 'incomplete_expired'])

/** The payment provider's API. Callers get a 502 if the provider refuses or does not answer. */
export class Payments {
  readonly #stripe: Stripe
  readonly #settings: StripeSettings
  readonly #returnUrl: string

  constructor(settings: StripeSettings, publicUrl: string) {
    const api = settings.api_url === undefined ? null : new URL(settings.api_url)
    this.#settings = settings
    this.#returnUrl = settings.return_url ?? publicUrl
    this.#stripe = new Stripe(settings.secret_key, {
      timeout: TIMEOUT_MS,
      maxNetworkRetries: RETRIES,
      telemetry: false,
      ...(api && { host: api.hostname, port: api.port, protocol: api.protocol === 'http:' ? 'http' : 'https' }),
    })
  }

  /** The idempotency key makes concurrent calls return the same customer. */
  async makeCustomer(workspaceId: string): Promise<string> {
    const metadata = { workspace_id: workspaceId }
    const options = { idempotencyKey: `customer-${workspaceId}` }
    const { id } = await asked(this.#stripe.customers.create({ metadata }, options))
    return id
  }

  async checkoutUrl(customer: string, workspaceId: string, plan: PaidPlan): Promise<string> {
    const { url } = await asked(
      this.#stripe.checkout.sessions.create({
        mode: 'subscription',
        customer,
        client_reference_id: workspaceId,
        line_items: [{ price: this.#settings.prices[plan], quantity: 1 }],
        success_url: this.#returnUrl,
        cancel_url: this.#returnUrl,
      }),
    )
    if (url === null) throw new ApiError('paymentProvider')
    return url
  }

  async portalUrl(customer: string): Promise<string> {
    const { url } = await asked(this.#stripe.billingPortal.sessions.create({ customer, return_url: this.#returnUrl }))
    return url
  }

  /**
   * The subscription that counts: the newest one that has not ended, else the newest. `null` if none ever began. Two
   * checkouts that were paid at the same time leave two subscriptions; control cancels the older one.
   */
  async subscriptionOf(customer: string): Promise<Subscription | null> {
    const begun = (await this.#subscriptions(customer)).filter(({ status }) => !NEVER_BEGAN.has(status))
    const [current, ...others] = begun.filter(({ status }) => !ENDED.has(status))
    for (const { id } of others) await this.#cancel(id)
    const found = current ?? begun[0]
    if (found === undefined) return null
    const price = found.items.data[0]?.price.id
    const { prices } = this.#settings
    return {
      id: found.id,
      status: found.status,
      plan: price === prices.pro ? 'pro' : price === prices.team ? 'team' : null,
    }
  }

  /**
   * The customer of an event; `null` if it has none. The rest of the event is ignored: events come late, twice and out
   * of order, so control asks the provider for the current state.
   *
   * @throws ApiError 401 if the provider did not sign the event, or it is older than five minutes
   */
  customerOfEvent(body: Buffer, signature: string): string | null {
    const event = this.#verified(body, signature)
    const { customer } = event.data.object as { customer?: unknown }
    return typeof customer === 'string' ? customer : null
  }

  /** Whether the provider bills volumes beyond the plan. */
  get reportsOverage(): boolean {
    return this.#settings.overage_meter !== undefined
  }

  /** A repeated report of the same day changes nothing. @param day `YYYY-MM-DD` */
  async reportOverage(customer: string, workspaceId: string, day: string, mibHours: number): Promise<void> {
    const { overage_meter: meter } = this.#settings
    if (meter === undefined) return
    const report = this.#stripe.billing.meterEvents.create({
      event_name: meter,
      identifier: `${workspaceId}:${day}`,
      timestamp: Date.parse(`${day}T23:59:59Z`) / 1000,
      payload: { stripe_customer_id: customer, value: `${mibHours}` },
    })
    await asked(
      report.catch((error: unknown) => {
        if (!isReported(error)) throw error
      }),
    )
  }

  /** Ends all subscriptions of a customer at once. The provider credits the unused part of the month. */
  async cancelSubscriptions(customer: string): Promise<void> {
    for (const { id, status } of await this.#subscriptions(customer)) {
      if (!ENDED.has(status)) await this.#cancel(id)
    }
  }

  async #cancel(id: string): Promise<void> {
    await asked(this.#stripe.subscriptions.cancel(id, { prorate: true, invoice_now: true }))
  }

  /** Newest first. */
  async #subscriptions(customer: string): Promise<readonly Stripe.Subscription[]> {
    const { data } = await asked(this.#stripe.subscriptions.list({ customer, status: 'all', limit: MAX_SUBSCRIPTIONS }))
    return data.toSorted((a, b) => b.created - a.created)
  }

  #verified(body: Buffer, signature: string): Stripe.Event {
    try {
      return this.#stripe.webhooks.constructEvent(body, signature, this.#settings.webhook_secret)
    } catch (error) {
      throw new ApiError('invalidSignature', {}, { cause: error })
    }
  }
}

/**
 * Whether the provider refused the report because it already has it. Its answer has an error code, or only a message.
 */
function isReported(error: unknown): boolean {
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) return false
  return error.code === 'duplicate_meter_event' || /already exists with identifier/i.test(error.message)
}

async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw new ApiError('paymentProvider', {}, { cause: error })
  }
}
