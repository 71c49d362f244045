/** @module-tag long */
/** The SDK's functions for everything but sandboxes and databases, against one server. */
import { randomUUID } from 'node:crypto'
import { busyboxRoot } from '@offshoot/agent/test/busybox-root'
import { tarArchive } from '@offshoot/agent/test/tar-archive'
import { FakeGitProvider } from '@offshoot/control/test/fake-git-provider'
import { WebhookReceiver } from '@offshoot/control/test/webhook-receiver'
import {
  AuthenticationError,
  BadRequestError,
  BuildFailedError,
  ConflictError,
  NotFoundError,
  Offshoot as Client,
  type WorkspaceEvent,
} from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { providerSettings } from './setup/app-preview-cases.ts'
import { examplesOf, linesOfExample, runExample } from './setup/documented-examples.ts'
import { GitHost } from './setup/git-host.ts'
import { nodeApp } from './setup/node-app.ts'
import { Offshoot } from './setup/offshoot.ts'
import { sdkAccountCases } from './setup/sdk-account-cases.ts'
import { sdkAppCases } from './setup/sdk-app-cases.ts'
import { sdkWebhookCases } from './setup/sdk-webhook-cases.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let git: GitHost
let provider: FakeGitProvider
let receiver: WebhookReceiver
/** With the API key of the first user. */
let client: Client
/** With the JWT of the same user. */
let user: Client
/** In another workspace of the same user. */
let other: Client

beforeAll(async () => {
  git = await GitHost.start()
  provider = await FakeGitProvider.start()
  receiver = await WebhookReceiver.start()
  await git.commit('site', nodeApp('one'))
  offshoot = await Offshoot.start('sdk-nouns', {
    templates: ['minimal', 'base', 'app'],
    env: { OFFSHOOT_EGRESS_ALLOW: git.exception },
    settings: { ...providerSettings(provider, git), webhooks: { allowed_networks: ['127.0.0.1'] } },
  })
  const { base_url: baseUrl, api_key: apiKey, jwt } = offshoot.credentials
  client = new Client({ baseUrl, apiKey })
  user = new Client({ baseUrl, jwt })
  const { id: org } = await user.workspaces.create({ name: 'Another' })
  other = new Client({ baseUrl, jwt, org })
})
afterAll(async () => {
  await offshoot?.destroy()
  await receiver?.stop()
  await provider?.stop()
  await git?.stop()
})

/** An image whose server is busybox. */
const archive = async () => new Uint8Array(tarArchive(await busyboxRoot()))

describe('volumes', () => {
  it('are made, grown, cloned, kept as snapshots and deleted', async () => {
    const wanted = { name: 'data', sizeMb: 16, idempotencyKey: randomUUID() }
    const volume = await client.volumes.create(wanted)
    expect((await client.volumes.create(wanted)).info.createdAt).toBe(volume.info.createdAt)
    expect(volume.info).toMatchObject({ name: 'data', sizeMb: 16, attachments: [] })
    await expect(client.volumes.create({ name: 'data' })).rejects.toBeInstanceOf(ConflictError)
    expect((await volume.resize({ sizeMb: 32 })).info.sizeMb).toBe(32)
    await expect(volume.resize({ sizeMb: 16 })).rejects.toBeInstanceOf(BadRequestError)
    const snapshot = await volume.snapshots.create()
    expect(await volume.snapshots.list().all()).toEqual([snapshot])
    const again = await client.volumes.create({ name: 'again', fromSnapshot: snapshot.id })
    const copy = await volume.clone({ name: 'copy' })
    const names = async () => (await client.volumes.list().all()).map(({ name }) => name)
    expect(await names()).toEqual(['copy', 'again', 'data'])
    expect((await client.volumes.list({ name: 'copy' }).all()).map(({ info }) => info.sizeMb)).toEqual([32])
    await volume.snapshots.delete(snapshot)
    expect(await volume.snapshots.list().first()).toBeNull()
    const found = await client.volumes.get('data')
    expect(await found.refresh()).toEqual(found.info)
    // `await using` deletes what the program has made, and nothing else.
    for (const each of [found, again, copy]) await each[Symbol.asyncDispose]()
    expect(await names()).toEqual(['data'])
    await client.volumes.delete('data')
    await client.volumes.delete('data')
    await expect(found.refresh()).rejects.toBeInstanceOf(NotFoundError)
  })
})

describe('templates', () => {
  it('are built from an archive with live progress, listed and deleted', async () => {
    const name = `box-${randomUUID()}`
    const build = await client.templates.build(await archive(), { name, sizeMb: 32, memoryMb: 128 })
    expect(build.info).toMatchObject({ name, sizeMb: 32 })
    const lines = []
    for await (const line of build.followLogs()) lines.push(line)
    expect(lines.at(-1)?.percent).toBe(100)
    expect(lines.map(({ percent }) => percent)).toEqual(lines.map(({ percent }) => percent).toSorted((a, b) => a - b))
    expect(await build.wait()).toMatchObject({ status: 'done', error: null })
    expect(await build.logs()).toContain(lines[0]?.line)
    expect(await client.templates.get(name)).toMatchObject({ name, memoryMb: 128, isGlobal: false })
    expect((await client.templates.list({ isGlobal: false }).all()).map((each) => each.name)).toEqual([name])
    expect((await client.templates.getBuild(build.id)).info).toEqual(build.info)
    expect((await client.templates.builds({ name }).all()).map(({ id }) => id)).toEqual([build.id])
    await expect(client.templates.build(await archive(), { name })).rejects.toBeInstanceOf(ConflictError)
    await client.templates.delete(name)
    await client.templates.delete(name)
    await expect(client.templates.get(name)).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.templates.delete('minimal')).rejects.toBeInstanceOf(AuthenticationError)
    await build.delete()
  })

  it('say why their build failed', async () => {
    const build = await client.templates.build('no archive', { name: 'broken' })
    const failure: unknown = await build.wait().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(BuildFailedError)
    expect((failure as BuildFailedError).build).toMatchObject({ id: build.id, status: 'failed' })
    await expect(client.templates.build('', { name: 'a/b' })).rejects.toBeInstanceOf(BadRequestError)
  })

  it('are made of a sandbox, and snapshots are kept of one', async () => {
    const sandbox = await client.sandboxes.create({ template: 'minimal' })
    const build = await sandbox.makeTemplate({ name: 'mine' })
    expect(await build.wait()).toMatchObject({ status: 'done', name: 'mine' })
    await client.templates.delete('mine')
    const snapshot = await sandbox.snapshot({ name: 'kept' })
    expect(await client.snapshots.get(snapshot.id)).toEqual(snapshot)
    expect(await client.snapshots.list({ sandboxId: sandbox.id, name: 'kept' }).all()).toEqual([snapshot])
    await client.snapshots.delete(snapshot.id)
    await client.snapshots.delete(snapshot.id)
    await expect(client.snapshots.get(snapshot.id)).rejects.toBeInstanceOf(NotFoundError)
    expect((await sandbox.update({ visibility: 'private' })).info.visibility).toBe('private')
    const links = sandbox.ports.links(8000)
    const link = await links.create({ label: 'for a friend' })
    expect(link).toMatchObject({ port: 8000, label: 'for a friend', url: expect.stringContaining(link.token) })
    expect((await links.list().all()).map(({ id }) => id)).toEqual([link.id])
    await links.delete(link)
    expect(await links.list().first()).toBeNull()
    await sandbox.delete()
  })
})

describe('the account', () => {
  sdkAccountCases(() => ({ client, user, offshoot }))
})

describe('webhooks', () => {
  sdkWebhookCases(() => ({ client, git, receiver, offshoot }))
})

describe('the events of a workspace', () => {
  it('are read by time, and followed without a gap while control is killed', async () => {
    const [last] = await client.pastEvents({ tail: 1 }).all()
    const since = last?.id ?? ''
    const aborter = new AbortController()
    const seen: WorkspaceEvent[] = []
    let id = ''
    const following = (async () => {
      for await (const event of client.events({ since, type: ['sandbox.running', 'sandbox.deleted'] })) {
        seen.push(event)
        if (event.type === 'sandbox.deleted' && event.sandboxId === id) break
      }
    })()
    // Without a position, no event is missed from the first step of the loop on.
    const fresh = client.events({ tail: 0, type: 'sandbox.running', signal: aborter.signal })
    const first = fresh.next()
    const sandbox = await client.sandboxes.create({ template: 'minimal' })
    ;({ id } = sandbox)
    const ofIt = () => seen.flatMap(({ type, sandboxId }) => (sandboxId === id ? [type] : []))
    await until('the first event', () => ofIt().length > 0)
    await offshoot.killService('control')
    await sandbox.delete()
    await following
    expect(ofIt()).toEqual(['sandbox.running', 'sandbox.deleted'])
    expect((await first).value).toMatchObject({ sandboxId: sandbox.id, object: { kind: 'sandbox' } })
    aborter.abort(new Error('enough'))
    await expect(
      (async () => {
        for await (const _event of fresh);
      })(),
    ).rejects.toThrow('enough')
    const types = (await client.pastEvents({ object: id }).all()).map(({ type }) => type)
    expect([types[0], types.at(-1)]).toEqual(['sandbox.deleted', 'sandbox.running'])
    const tail = []
    for await (const { type } of client.events({ object: id, tail: 1 })) {
      tail.push(type)
      break
    }
    expect(tail).toEqual(['sandbox.deleted'])
    await expect(client.events({ since: '9999999999-1' }).next()).rejects.toBeInstanceOf(BadRequestError)
  })
})

describe('apps', () => {
  sdkAppCases(() => ({ client, git, provider, offshoot }))
})

describe('the documented examples', () => {
  const examples = [...examplesOf('docs/sdk.md'), ...examplesOf('packages/sdk/README.md')]
  // The others run where a database server, a model or packages of others are.
  const elsewhere = new Set(['Databases', 'Agents of the AI SDK', 'ComputeSDK'])
  it.each(examples.filter(({ section }) => !elsewhere.has(section)))('run: $page, $section', async ({ code }) => {
    const replaced = {
      'https://git.example.com/site.git': git.urlOf('site'),
      'https://ci.example.com/hook': receiver.url('/documented'),
    }
    const ran = await runExample(code, offshoot, { replaced, files: { 'image.tar': await archive() } })
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  })
})

it('the example preview-per-pull-request.ts makes an app for a pull request, and removes it', async () => {
  const env = { REPOSITORY: git.urlOf('site'), PULL_NUMBER: '7' }
  expect(await linesOfExample('preview-per-pull-request.ts', offshoot, env)).toEqual([
    expect.stringMatching(/^created http\S+$/),
  ])
  expect(await linesOfExample('preview-per-pull-request.ts', offshoot, { ...env, CLOSED: '1' })).toEqual([
    'removed pull-7',
  ])
  expect((await client.apps.list().all()).filter(({ info }) => info.name === 'pull-7')).toEqual([])
})

describe('objects of others', () => {
  it('are not found, nor are ids of another kind', async () => {
    const volume = await client.volumes.create({ name: 'ours', sizeMb: 16 })
    const app = await client.apps.create({ name: 'ours', gitUrl: git.urlOf('site') })
    const webhook = await client.webhooks.create({ url: receiver.url('/ours') })
    const id = randomUUID()
    const refused = [
      other.volumes.get('ours'),
      other.apps.get(app.id),
      other.webhooks.get(webhook.id),
      client.apps.get(webhook.id),
      client.webhooks.get(app.id),
      client.databases.get(app.id),
      client.snapshots.get(app.id),
      client.templates.getBuild(app.id),
      client.apps.get('no id'),
      client.databases.get(id),
      app.getDeployment(id),
      webhook.deliveries.get(id),
      user.workspaces.get(id),
      other.events({ since: 'x' }).next(),
    ]
    const outcomes = await Promise.allSettled(refused)
    const statuses = outcomes.map((each) =>
      each.status === 'rejected' ? (each.reason as { status?: number }).status : 0,
    )
    expect(statuses).toEqual([...Array.from({ length: refused.length - 1 }, () => 404), 400])
    await Promise.all([other.volumes.delete('ours'), other.apps.delete(app.id), other.webhooks.delete(webhook.id)])
    for (const each of [volume, app, webhook]) {
      await each.refresh()
      await each.delete()
    }
  })
})
