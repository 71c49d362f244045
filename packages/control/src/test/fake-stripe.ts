import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeSubscription {
  id: string
  customer: string
  status: string
  created: number
  price: string
}

interface Handled {
  readonly status: number
  readonly body: unknown
}

/**
 * Stripe's HTTP API as far as control uses it, over a real socket: form-encoded bodies, its errors, its idempotency
 * keys.
 */
export class FakeStripe {
  static readonly SECRET_KEY = 'sk_test_1'
  static readonly WEBHOOK_SECRET = 'whsec_1'
  readonly customers = new Map<string, string | null>()
  readonly subscriptions: FakeSubscription[] = []
  readonly meterEvents: Record<string, string>[] = []
  /** Called before a list of subscriptions is answered. */
  onList: () => Promise<void> = async () => undefined
  /** If set, the answer to every request. */
  failure: Handled | null = null
  readonly #answered = new Map<string, Handled>()
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(): Promise<FakeStripe> {
    const stripe = new FakeStripe()
    await new Promise<void>((resolve) => stripe.#server.listen(0, '127.0.0.1', resolve))
    return stripe
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  /** An event's body, and the header with its signature. */
  static event(customer: string | null, type: string, { secret = FakeStripe.WEBHOOK_SECRET, ageSeconds = 0 } = {}) {
    const object = customer === null ? { object: 'balance' } : { object: 'subscription', customer }
    const body = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } })
    const at = Math.floor(Date.now() / 1000) - ageSeconds
    const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
    return { body, headers: { 'stripe-signature': `t=${at},v1=${signature}` } }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#handle(request)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

  async #handle(request: IncomingMessage): Promise<Handled> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    if (request.headers.authorization !== `Bearer ${FakeStripe.SECRET_KEY}`) {
      return { status: 401, body: { error: { type: 'invalid_request_error', message: 'Invalid API Key provided' } } }
    }
    if (this.failure !== null) return this.failure
    const key = request.headers['idempotency-key']
    const known = typeof key === 'string' ? this.#answered.get(key) : undefined
    if (known !== undefined) return known
    const form = new URLSearchParams(Buffer.concat(parts).toString())
    const answer = await this.#answer(request.method ?? 'GET', new URL(request.url ?? '/', this.url), form)
    if (typeof key === 'string') this.#answered.set(key, answer)
    return answer
  }

  async #answer(method: string, { pathname, searchParams }: URL, form: URLSearchParams): Promise<Handled> {
    switch (`${method} ${pathname}`) {
      case 'POST /v1/customers': {
        const id = `cus_${this.customers.size + 1}`
        this.customers.set(id, form.get('metadata[workspace_id]'))
        return { status: 200, body: { id, object: 'customer' } }
      }
      case 'POST /v1/checkout/sessions': {
        const url = `https://checkout.example/${form.get('customer')}/${form.get('line_items[0][price]')}?back=${form.get('success_url')}`
        return { status: 200, body: { id: 'cs_1', object: 'checkout.session', url } }
      }
      case 'POST /v1/billing_portal/sessions':
        return { status: 200, body: { id: 'bps_1', url: `https://portal.example/${form.get('customer')}` } }
      case 'GET /v1/subscriptions': {
        const data = this.subscriptions
          .filter(({ customer }) => customer === searchParams.get('customer'))
          .map(({ price, ...rest }) => ({
            ...rest,
            object: 'subscription',
            items: { data: [{ price: { id: price } }] },
          }))
        await this.onList()
        return { status: 200, body: { object: 'list', data, has_more: false } }
      }
      case 'POST /v1/billing/meter_events': {
        const identifier = form.get('identifier')
        if (this.meterEvents.some((event) => event['identifier'] === identifier)) {
          const message = `An event already exists with identifier ${identifier}.`
          return { status: 400, body: { error: { type: 'invalid_request_error', message } } }
        }
        this.meterEvents.push(Object.fromEntries(form))
        return { status: 200, body: { object: 'billing.meter_event' } }
      }
      default:
        if (method === 'DELETE' && pathname.startsWith('/v1/subscriptions/')) return this.#cancel(pathname)
        return { status: 404, body: { error: { type: 'invalid_request_error', message: 'Unrecognized request URL' } } }
    }
  }

  #cancel(pathname: string): Handled {
    const found = this.subscriptions.find(({ id }) => pathname.endsWith(`/${id}`))
    if (found === undefined || found.status === 'canceled') {
      return {
        status: 404,
        body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such subscription' } },
      }
    }
    found.status = 'canceled'
    return { status: 200, body: { ...found, object: 'subscription' } }
  }
}
