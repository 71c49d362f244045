import { verify } from '@offshoot/control/test/webhook-setup'
import type { Received, WebhookReceiver } from '@offshoot/control/test/webhook-receiver'
import { BadRequestError, NotFoundError, type Offshoot as Client } from '@offshoot/sdk'
import { expect, it } from 'vitest'
import type { GitHost } from './git-host.ts'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

interface World {
  readonly client: Client
  readonly git: GitHost
  readonly receiver: WebhookReceiver
  readonly offshoot: Offshoot
}

/** The SDK's functions for webhooks, with a receiver on a socket and real sandboxes, builds and deploys. */
export function sdkWebhookCases(worldOf: () => World): void {
  it('send signed messages, log them, and send them again', async () => {
    const { client, receiver } = worldOf()
    const webhook = await client.webhooks.create({ url: receiver.url('/hook'), events: ['sandbox.*'] })
    const { secret } = webhook
    expect(await webhook.test()).toMatchObject({ type: 'webhook.test', webhookId: webhook.id })
    const [message] = await until('a message', () => (receiver.at('/hook').length > 0 ? receiver.at('/hook') : null))
    expect(verify(secret ?? '', message as Received)).toMatchObject({ type: 'webhook.test' })
    const [delivery] = await until('its delivery', async () => {
      const all = await webhook.deliveries.list({ status: 'delivered' }).all()
      return all.length > 0 ? all : null
    })
    expect(await webhook.deliveries.get(delivery?.id ?? '')).toMatchObject({
      payload: { type: 'webhook.test' },
      log: [{ responseStatus: 200 }],
    })
    await webhook.deliveries.redeliver(delivery ?? '')
    await until('the message again', () => receiver.at('/hook').length > 1)
    expect(receiver.at('/hook')[1]?.headers['webhook-id']).toBe(message?.headers['webhook-id'])
    expect(await webhook.redeliver({ since: new Date(0).toISOString() })).toBe(0)

    const found = await client.webhooks.get(webhook.id)
    expect([found.secret, found.info]).toEqual([null, webhook.info])
    expect((await found.rotateSecret({ overlapSeconds: 0 })).secret).toMatch(/^whsec_/)
    expect(found.secret).not.toBe(secret)
    expect((await found.update({ enabled: false })).info).toMatchObject({ enabled: false, disabledReason: 'user' })
    expect((await client.webhooks.list({ enabled: false }).all()).map(({ id }) => id)).toEqual([webhook.id])
    await webhook.delete()
    await client.webhooks.delete(webhook.id)
    await expect(found.refresh()).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.webhooks.create({ url: 'ftp://x' })).rejects.toBeInstanceOf(BadRequestError)
  })

  it('tell all that happens to sandboxes, builds and deployments, also while control is killed', async () => {
    const { client, git, receiver, offshoot } = worldOf()
    const [before] = await client.pastEvents({ tail: 1 }).all()
    const app = await client.apps.create({ name: 'told', gitUrl: git.urlOf('site') })
    const webhook = await client.webhooks.create({
      url: receiver.url('/life'),
      events: ['sandbox.*', 'build.*', 'deploy.*'],
    })
    const deployment = await app.deploy()
    const sandbox = await client.sandboxes.create({ template: 'minimal' })
    const {
      sandboxes: [fork],
    } = await sandbox.fork({ count: 1 })
    await sandbox.hibernate()
    await offshoot.killService('control')
    await sandbox.exec('true')
    const build = await client.templates.build('no archive', { name: 'told' })
    await build.wait().catch(() => undefined)
    await deployment.wait()
    await fork?.delete()
    await sandbox.delete()
    await app.delete()
    const objects = [sandbox.id, fork?.id, build.id, deployment.id]
    const told = async () =>
      (await client.pastEvents({ since: before?.id ?? '' }).all())
        .filter(({ type }) => /^(sandbox|build|deploy)\./.test(type))
        .map(({ id, type, object }) => `${id} ${type} ${object.id}`)
    // A message may come twice, with the same id.
    const messages = () => new Map(receiver.at('/life').map((each) => [each.headers['webhook-id'], each]))
    const received = () =>
      [...messages().values()].map(({ json: { data } }) => `${data.id} ${data.type} ${data.object.id}`)
    // Both at one time, because further events may follow.
    const both = await until('all messages', async () => {
      const [events, sent] = [await told(), received()]
      const isOver = events.some((each) => each.endsWith(`sandbox.deleted ${sandbox.id}`))
      return isOver && events.length === sent.length && { events, sent }
    })
    expect(both.sent.toSorted()).toEqual(both.events.toSorted())
    const typesOf = (id = '') =>
      received()
        .filter((each) => each.endsWith(id))
        .map((each) => each.split(' ')[1])
    expect(typesOf(sandbox.id)).toEqual(
      expect.arrayContaining(['sandbox.running', 'sandbox.hibernated', 'sandbox.woken', 'sandbox.deleted']),
    )
    expect(typesOf(build.id)).toContain('build.failed')
    expect(typesOf(deployment.id)).toContain('deploy.live')
    expect(objects.every((id) => typesOf(id).length > 0)).toBe(true)
    for (const message of messages().values())
      expect(verify(webhook.secret ?? '', message)).toMatchObject({ type: message.json.type })
    await webhook.delete()
  })
}
