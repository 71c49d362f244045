import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { DnsServer } from './dns-server.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from './harness.ts'
import { type Received, WebhookReceiver } from './webhook-receiver.ts'

/** What the tests of a file share. Each test has a workspace of its own, alice's. */
export interface WebhookWorld {
  harness: Harness
  receiver: WebhookReceiver
  dns: DnsServer
  control: RunningControl
  alice: Tenant
  bob: Tenant
}

/** Fails unless the library of the specification finds the signature good. @returns the parsed body */
export const verify = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

/** A new path of the receiver. */
export const newPath = () => `/${randomUUID()}`

/** Starts control, which may send to 127.0.0.1, and a receiver there. */
export function webhookSetup() {
  const world = {} as WebhookWorld
  let tenants = 0
  const settings = () => ({ webhooks: { allowed_networks: ['127.0.0.1'] }, dns_servers: [world.dns.address] })
  const startControl = () => world.harness.control([], settings())

  beforeAll(async () => {
    world.receiver = await WebhookReceiver.start()
    world.dns = await DnsServer.start()
    world.harness = await Harness.start()
    world.control = await startControl()
    world.bob = await world.harness.tenant(world.control, 'bob')
  })

  beforeEach(async () => {
    tenants += 1
    world.alice = await world.harness.tenant(world.control, `alice${tenants}`)
  })

  afterAll(async () => {
    await world.harness.stop()
    await world.receiver.stop()
    world.dns.stop()
  })

  const as = (method: string, path: string, body?: unknown, token = world.alice.key) =>
    call(world.control.url, method, path, { token, ...(body !== undefined && { body }) })
  const create = async (body: object) => {
    const made = await as('POST', '/v1/webhooks', body)
    expect(made.status).toBe(201)
    return made.body
  }
  const deliveries = async (id: string, query = '') => (await as('GET', `/v1/webhooks/${id}/deliveries?${query}`)).body
  const detailsOf = async (id: string, delivery: string) =>
    (await as('GET', `/v1/webhooks/${id}/deliveries/${delivery}`)).body
  const at = async (where: string, count = 1): Promise<Received[]> => {
    await eventually(() => world.receiver.at(where).length >= count, 20_000)
    return world.receiver.at(where)
  }
  const settled = async (id: string, status: string) =>
    eventually(async () => {
      const [first] = await deliveries(id)
      return first?.status === status && first
    })

  /** Each change of a database is an event. */
  async function addDatabase({ workspaceId } = world.alice): Promise<string> {
    const { rows } = await world.harness.pool.query(
      `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
       values (gen_random_uuid(), $1, '1g', 'provisioning', '', '', 300) returning id`,
      [workspaceId],
    )
    return rows[0].id
  }

  /** As if its time had come. */
  async function makeDue(id: string): Promise<void> {
    await world.harness.pool.query('update webhooks set quiet_until = null where id = $1', [id])
    await world.harness.pool.query(
      'update webhook_deliveries set due_at = now() where webhook_id = $1 and due_at is not null',
      [id],
    )
    await world.harness.pool.query(
      `select graphile_worker.add_job('deliver-webhook', json_build_object('id', $1::text), job_key := 'deliver-webhook:' || $1)`,
      [id],
    )
  }

  return { world, startControl, as, create, deliveries, detailsOf, at, settled, addDatabase, makeDue }
}
