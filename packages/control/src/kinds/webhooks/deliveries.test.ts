import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../test/harness.ts'
import { type Received } from '../../test/webhook-receiver.ts'
import { newPath, verify, webhookSetup } from '../../test/webhook-setup.ts'
import { disableOverfull, MAX_WAITING } from './delivery/delivery-statements.ts'

const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id)

/** Messages received over sockets, and verified by the library of the specification. */
describe('deliveries of webhooks', () => {
  const { world, as, create, deliveries, detailsOf, at, settled, addDatabase, makeDue } = webhookSetup()

  it('get the events that they ask for, signed, each once', async () => {
    const all = newPath()
    const ready = newPath()
    const only = newPath()
    const foreign = newPath()
    const database = randomUUID()
    const { id, secret } = await create({ url: world.receiver.url(all) })
    await create({ url: world.receiver.url(ready), events: ['build.*', 'database.ready'] })
    await create({ url: world.receiver.url(only), objects: [database] })
    await as('POST', '/v1/webhooks', { url: world.receiver.url(foreign) }, world.bob.key)
    const other = await addDatabase()
    await world.harness.pool.query(
      `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
       values ($2, $1, '1g', 'provisioning', '', '', 300)`,
      [world.alice.workspaceId, database],
    )
    await world.harness.pool.query(`update databases set status = 'ready' where id = any($1)`, [[database, other]])
    const received = await at(all, 4)
    await at(ready, 2)
    await at(only, 2)
    expect(world.receiver.at(ready).map(({ json }) => json.type)).toEqual(['database.ready', 'database.ready'])
    expect(new Set(world.receiver.at(only).map(({ json }) => json.data.object.id))).toEqual(new Set([database]))
    expect(world.receiver.at(foreign)).toEqual([])
    const { body: events } = await as('GET', '/v1/events?tail=10')
    expect(received.map(({ json }) => json.data).toSorted(byId)).toEqual(events.toSorted(byId))
    for (const each of received) {
      expect(verify(secret, each)).toEqual(each.json)
      expect(each.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Offshoot-Webhooks/1' })
      expect(each.json.timestamp).toBe(each.json.data.ts)
      expect(() => verify(secret, { ...each, body: `${each.body} ` })).toThrow('No matching signature found')
      expect(() => verify('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', each)).toThrow('No matching signature found')
    }
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(4)
    const log = await eventually(async () => {
      const found = await deliveries(id, 'status=delivered')
      return found.length === 4 && found
    })
    expect(log[0]).toMatchObject({
      webhook_id: id,
      attempts: 1,
      response_status: 200,
      error: null,
      next_attempt_at: null,
    })
    const details = await detailsOf(id, log[0].id)
    expect(details.log).toMatchObject([{ response_status: 200, error: null, response: 'answer 200' }])
    expect(received.map(({ json }) => json)).toContainEqual(details.payload)
    expect(await deliveries(id, 'type=database.ready')).toHaveLength(2)
    expect(await deliveries(id, 'status=failed')).toEqual([])
  })

  it('send a test message', async () => {
    const where = newPath()
    const { id, secret } = await create({ url: world.receiver.url(where), events: ['deploy.live'] })
    const sent = await as('POST', `/v1/webhooks/${id}/test`)
    expect(sent).toMatchObject({ status: 202, body: { type: 'webhook.test', status: 'pending' } })
    const [message] = await at(where)
    expect(message?.headers['webhook-id']).toBe(`msg_${sent.body.id}`)
    expect(verify(secret, message as Received)).toMatchObject({ type: 'webhook.test', data: { webhook_id: id } })
  })

  it('sign with both secrets while a rotation overlaps', async () => {
    const where = newPath()
    const { id, secret: first } = await create({ url: world.receiver.url(where) })
    const { body: rotated } = await as('POST', `/v1/webhooks/${id}/rotate-secret`)
    expect(rotated.secret).not.toBe(first)
    expect(Date.parse(rotated.overlap_until) - Date.now()).toBeGreaterThan(23 * 3_600_000)
    await as('POST', `/v1/webhooks/${id}/test`)
    const [both] = await at(where)
    for (const secret of [first, rotated.secret]) verify(secret, both as Received)
    const { body: last } = await as('POST', `/v1/webhooks/${id}/rotate-secret`, { overlap_seconds: 0 })
    expect(last.overlap_until).toBeNull()
    await as('POST', `/v1/webhooks/${id}/test`)
    const [, single] = await at(where, 2)
    verify(last.secret, single as Received)
    for (const secret of [first, rotated.secret])
      expect(() => verify(secret, single as Received)).toThrow('No matching signature found')
  })

  it('are sent again with the same id and body until an attempt succeeds', async () => {
    const where = newPath()
    world.receiver.answers.set(
      where,
      (response, nth) => void (nth < 3 ? response.writeHead(500).end('x'.repeat(5_000)) : response.end('at last')),
    )
    const { id, secret } = await create({ url: world.receiver.url(where) })
    const database = await addDatabase()
    const waiting = await eventually(async () =>
      (await deliveries(id)).find((each: { attempts: number }) => each.attempts === 1),
    )
    expect(waiting).toMatchObject({ status: 'pending', response_status: 500, error: 'status 500' })
    const waitMs = Date.parse(waiting.next_attempt_at) - Date.parse(waiting.created_at)
    expect(waitMs).toBeGreaterThan(3_000)
    await eventually(async () => (await as('GET', `/v1/webhooks/${id}`)).body.failing_since !== null)
    await makeDue(id)
    await at(where, 2)
    await eventually(async () => (await deliveries(id))[0].attempts === 2)
    await makeDue(id)
    await settled(id, 'delivered')
    const received = world.receiver.at(where)
    expect(received).toHaveLength(3)
    expect(new Set(received.map(({ headers, body }) => `${String(headers['webhook-id'])} ${body}`)).size).toBe(1)
    expect(received[0]?.json.data.object.id).toBe(database)
    verify(secret, received[2] as Received)
    const { log } = await detailsOf(id, waiting.id)
    expect(log.map((each: { response: string }) => each.response)).toEqual([
      'x'.repeat(1024),
      'x'.repeat(1024),
      'at last',
    ])
    await eventually(async () => (await as('GET', `/v1/webhooks/${id}`)).body.failing_since === null)
  })

  it('give up after a day, and are sent again on request: one, or all failed ones', { tags: ['faults'] }, async () => {
    const where = newPath()
    world.receiver.answers.set(where, 503)
    const { id } = await create({ url: world.receiver.url(where) })
    for (let n = 0; n < 3; n += 1) await addDatabase()
    await eventually(async () => (await deliveries(id)).every(({ attempts }: { attempts: number }) => attempts >= 1))
    await world.harness.pool.query('update webhook_deliveries set expires_at = now() where webhook_id = $1', [id])
    await makeDue(id)
    await eventually(async () => (await deliveries(id, 'status=failed')).length === 3)
    const failed = await deliveries(id)
    expect(failed[0]).toMatchObject({ next_attempt_at: null, error: 'status 503' })
    world.receiver.answers.delete(where)
    const again = await as('POST', `/v1/webhooks/${id}/deliveries/${failed[0].id}/redeliver`)
    expect(again).toMatchObject({ status: 202, body: { id: failed[0].id, status: 'pending' } })
    await eventually(async () => (await deliveries(id, 'status=delivered')).length === 1)
    expect((await as('POST', `/v1/webhooks/${id}/redeliver`, { since: '2099-01-01T00:00:00Z' })).body).toEqual({
      count: 0,
    })
    const all = await as('POST', `/v1/webhooks/${id}/redeliver`, { since: failed[2].created_at })
    expect(all).toMatchObject({ status: 202, body: { count: 2 } })
    await eventually(async () => (await deliveries(id, 'status=delivered')).length === 3)
    const { headers } = world.receiver.at(where).at(-1) as Received
    expect(failed.map((each: { id: string }) => `msg_${each.id}`)).toContain(headers['webhook-id'])
  })

  it(
    'are disabled by 410, by a day of failures and by a long queue, and can be enabled again',
    { tags: ['faults'] },
    async () => {
      const gone = newPath()
      world.receiver.answers.set(gone, 410)
      const first = await create({ url: world.receiver.url(gone) })
      await addDatabase()
      await settled(first.id, 'failed')
      const reasonOf = async (id: string) => (await as('GET', `/v1/webhooks/${id}`)).body.disabled_reason
      await eventually(async () => (await reasonOf(first.id)) === 'gone')
      const failing = newPath()
      world.receiver.answers.set(failing, 500)
      const second = await create({ url: world.receiver.url(failing) })
      await addDatabase()
      await at(failing)
      await eventually(async () => (await deliveries(second.id))[0].attempts === 1)
      await world.harness.pool.query(`update webhooks set failing_since = now() - interval '23 hours' where id = $1`, [
        second.id,
      ])
      await addDatabase()
      await eventually(async () => (await reasonOf(second.id)) === 'failing')
      const waiting = await deliveries(second.id)
      expect(waiting.map(({ status }: { status: string }) => status)).toEqual(['failed', 'failed'])
      expect(waiting[1].error).toBe('status 500; then the webhook was disabled')
      const third = await create({ url: world.receiver.url(newPath()) })
      await world.harness.pool.query(
        `insert into webhook_deliveries (webhook_id, type, payload, due_at, expires_at)
       select $1, 'x', '{}', now() + interval '1 hour', now() + interval '1 day' from generate_series(0, $2)`,
        [third.id, MAX_WAITING],
      )
      await disableOverfull(world.harness.pool)
      expect(await reasonOf(third.id)).toBe('backlog')
      expect(await deliveries(third.id, 'status=pending')).toEqual([])
      // A disabled webhook gets no events.
      await addDatabase()
      expect(await deliveries(second.id)).toHaveLength(2)
      world.receiver.answers.delete(failing)
      expect((await as('PATCH', `/v1/webhooks/${second.id}`, { enabled: true })).body).toMatchObject({
        disabled_reason: null,
        failing_since: null,
      })
      await addDatabase()
      await settled(second.id, 'delivered')
    },
  )
})
