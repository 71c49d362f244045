/** @module-tag faults */
import { describe, expect, it } from 'vitest'
import { eventually } from '../../test/harness.ts'
import { WebhookReceiver } from '../../test/webhook-receiver.ts'
import { newPath, webhookSetup } from '../../test/webhook-setup.ts'

/** Receivers, name servers and processes that do not do what they should. */
describe('deliveries under faults', () => {
  const { world, startControl, as, create, deliveries, at, settled, addDatabase } = webhookSetup()

  it('do not follow redirects, and say why an attempt failed', async () => {
    const target = newPath()
    const redirect = newPath()
    world.receiver.answers.set(
      redirect,
      (response) => void response.writeHead(307, { location: world.receiver.url(target) }).end(),
    )
    const cut = newPath()
    world.receiver.answers.set(cut, (response) => void response.destroy())
    const reasons = [
      [world.receiver.url(redirect), 'redirects are not followed'],
      [world.receiver.url(cut), 'ECONNRESET'],
      ['http://127.0.0.1:1/', 'ECONNREFUSED'],
      [`https://127.0.0.1:${world.receiver.port}/`, 'EPROTO|ERR_SSL'],
      ['http://127.0.0.2/', 'the address is not public'],
      ['http://10.0.0.1/', 'the address is not public'],
      ['http://169.254.169.254/latest/meta-data', 'the address is not public'],
      ['http://[::1]:8080/', 'the address is not public'],
      ['http://nowhere.example/', 'ENOTFOUND'],
    ] as const
    for (const [url, reason] of reasons) {
      const { id } = await create({ url })
      await as('POST', `/v1/webhooks/${id}/test`)
      const failed = await eventually(async () =>
        (await deliveries(id)).find((each: { error: string }) => each.error !== null),
      )
      expect(failed.error).toMatch(new RegExp(reason))
      await as('DELETE', `/v1/webhooks/${id}`)
    }
    expect(world.receiver.at(target)).toEqual([])
  })

  it('connect to the address that was checked, whatever the name server says next', async () => {
    const trap = await WebhookReceiver.start('127.0.0.2', world.receiver.port)
    try {
      world.dns.addresses.set('rebind.example', ['127.0.0.1', '127.0.0.2'])
      world.dns.addresses.set('inside.example', ['127.0.0.2'])
      const where = newPath()
      const { id } = await create({ url: `http://rebind.example:${world.receiver.port}${where}` })
      await as('POST', `/v1/webhooks/${id}/test`)
      const [message] = await at(where)
      expect(message?.headers.host).toBe(`rebind.example:${world.receiver.port}`)
      await settled(id, 'delivered')
      // The next attempt resolves again, and is refused.
      await as('POST', `/v1/webhooks/${id}/test`)
      await eventually(async () => (await deliveries(id))[0].error === 'the address is not public')
      expect(trap.received).toEqual([])
    } finally {
      await trap.stop()
    }
  })

  it('of one slow world.receiver do not delay those of others', async () => {
    const slow = newPath()
    const held: (() => void)[] = []
    world.receiver.answers.set(slow, (response) => void held.push(() => response.end()))
    for (let n = 0; n < 8; n += 1) await create({ url: world.receiver.url(slow) })
    for (let n = 0; n < 5; n += 1) await addDatabase()
    // Four at a time for each of the six webhooks that a workspace has under way.
    await eventually(() => held.length === 24)
    const where = newPath()
    const { body } = await as('POST', '/v1/webhooks', { url: world.receiver.url(where) }, world.bob.key)
    await addDatabase(world.bob)
    await at(where)
    expect(held).toHaveLength(24)
    await as('DELETE', `/v1/webhooks/${body.id}`, undefined, world.bob.key)
    world.receiver.answers.delete(slow)
    for (const release of held) release()
    await at(slow, 40)
  })

  it('are delivered although a process ends between any two steps', async () => {
    const where = newPath()
    const { id } = await create({ url: world.receiver.url(where) })
    // An event while no process runs.
    await world.control.stop()
    await addDatabase()
    world.receiver.answers.set(where, (response, nth) => void (nth > 1 && response.end()))
    world.control = await startControl()
    // This process ends while the world.receiver has the message and has not answered.
    await at(where)
    await world.control.stop()
    world.control = await startControl()
    const [first, second] = await at(where, 2)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(await settled(id, 'delivered')).toMatchObject({ attempts: 1 })
    // A process died with the lease, and its job was lost.
    await world.harness.pool.query(
      `update webhooks set holder = gen_random_uuid(), creator = 999999, held_until = now() + interval '1 minute' where id = $1`,
      [id],
    )
    await addDatabase()
    await at(where, 3)
  })

  it('wait while a living process delivers, which finds what came meanwhile', async () => {
    const where = newPath()
    const held: (() => void)[] = []
    world.receiver.answers.set(
      where,
      (response, nth) => void (nth === 1 ? held.push(() => response.end()) : response.end()),
    )
    const { id } = await create({ url: world.receiver.url(where) })
    const other = await startControl()
    await addDatabase()
    await at(where)
    for (let n = 0; n < 20; n += 1) await addDatabase()
    await at(where, 21)
    held[0]?.()
    await eventually(async () => (await deliveries(id, 'status=delivered')).length === 21)
    expect(world.receiver.at(where)).toHaveLength(21)
    await other.stop()
  })

  it('go with their workspace', async () => {
    const { id } = await create({ url: world.receiver.url(newPath()) })
    await as('POST', `/v1/webhooks/${id}/test`)
    await world.harness.pool.query('delete from organization where id = $1', [world.alice.workspaceId])
    const { rows } = await world.harness.pool.query('select id from webhook_deliveries where webhook_id = $1', [id])
    expect(rows).toEqual([])
  })
})
