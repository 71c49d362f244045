/*
 * The types of the SDK as programs see them. The compiler checks this file; nothing runs it. A line under
 * `@ts-expect-error` must not compile.
 */
// Nothing runs, so nothing has effects.
// oxlint-disable vitest/expect-expect, no-new, no-self-assign
import { expectTypeOf, test } from 'vitest'
import {
  type App,
  type BuildLogLine,
  type Database,
  type Deployment,
  type DeploymentInfo,
  type ExecResult,
  explore,
  type List,
  Offshoot,
  type OffsetChunk,
  type Sandbox,
  type Snapshot,
  type Template,
  type Volume,
  type Webhook,
  type WorkspaceEvent,
} from './index.ts'

declare const client: Offshoot
declare const sandbox: Sandbox
declare const database: Database
declare const app: App
declare const webhook: Webhook

test('clients', () => {
  new Offshoot({ baseUrl: 'http://x', apiKey: 'ofs_x', timeoutMs: 0, jwt: async () => 'x' })
  // @ts-expect-error a number is no key
  new Offshoot({ apiKey: 5 })
  // @ts-expect-error no such option
  new Offshoot({ apikey: 'ofs_x' })
  // @ts-expect-error fixed for the life of the client
  client.databases = client.databases
})

test('sandboxes', () => {
  expectTypeOf(client.sandboxes.create()).resolves.toEqualTypeOf<Sandbox>()
  expectTypeOf(client.sandboxes.list()).toEqualTypeOf<List<Sandbox>>()
  expectTypeOf(sandbox.info.status).toEqualTypeOf<'creating' | 'running' | 'paused' | 'hibernated' | 'failed'>()
  expectTypeOf(sandbox.exec(['true'])).resolves.toEqualTypeOf<ExecResult>()
  expectTypeOf(sandbox.snapshot()).resolves.toEqualTypeOf<Snapshot>()
  // One fork is a sandbox; several are children.
  expectTypeOf(sandbox.fork()).resolves.toEqualTypeOf<Sandbox>()
  expectTypeOf(sandbox.fork({ count: 2 })).resolves.toHaveProperty('sandboxes')
  // @ts-expect-error the API calls it ttl_seconds, the SDK does not
  void client.sandboxes.create({ ttl_seconds: 5 })
  // @ts-expect-error no such state
  client.sandboxes.list({ status: 'asleep' })
  // @ts-expect-error metadata has texts
  void client.sandboxes.create({ metadata: { n: 1 } })
  // @ts-expect-error a command cannot be left out
  void sandbox.exec()
})

test('output is text unless bytes are asked for', async () => {
  const command = await sandbox.commands.get('x')
  expectTypeOf(command.output()).toEqualTypeOf<AsyncGenerator<OffsetChunk, void, undefined>>()
  for await (const { data } of command.output()) expectTypeOf(data).toEqualTypeOf<string>()
  for await (const { data } of command.output({ encoding: 'bytes' })) expectTypeOf(data).toExtend<Uint8Array>()
  // @ts-expect-error no such encoding
  command.output({ encoding: 'latin1' })
})

test('databases', async () => {
  expectTypeOf(client.databases.get('x')).resolves.toEqualTypeOf<Database>()
  expectTypeOf(database.branch()).resolves.toEqualTypeOf<Database>()
  expectTypeOf(database.info.connectionUrl).toEqualTypeOf<string>()
  expectTypeOf(database.query<{ n: number }>('select 1 as n'))
    .resolves.toHaveProperty('rows')
    .toEqualTypeOf<{ n: number }[]>()
  // @ts-expect-error a size that does not exist
  void client.databases.create({ size: '2g' })
  // @ts-expect-error the time cannot be left out
  void database.restore({ label: 'x' })
  // @ts-expect-error parameters are a list
  void database.query('select $1', 1)
  const [summary] = await client.databases.list().all()
  // @ts-expect-error a list has no credentials
  void summary?.password
})

test('volumes and templates', async () => {
  expectTypeOf(client.volumes.create({ name: 'x' })).resolves.toEqualTypeOf<Volume>()
  expectTypeOf(client.templates.get('x')).resolves.toEqualTypeOf<Template>()
  const build = await client.templates.build(new Blob([]), { name: 'x', replace: true })
  for await (const line of build.followLogs()) expectTypeOf(line).toEqualTypeOf<BuildLogLine>()
  client.templates.list({ isGlobal: true })
  // @ts-expect-error a flag is no text
  client.templates.list({ isGlobal: 'true' })
  // @ts-expect-error a template has a name
  void client.templates.build(new Blob([]), {})
  // @ts-expect-error an object is no archive
  void client.templates.build({ Dockerfile: '' }, { name: 'x' })
  // @ts-expect-error a volume has a name
  void client.volumes.create({ sizeMb: 5 })
})

test('apps', async () => {
  expectTypeOf(app.deploy()).resolves.toEqualTypeOf<Deployment>()
  expectTypeOf((await app.deploy()).wait()).resolves.toEqualTypeOf<DeploymentInfo>()
  for await (const line of app.followLogs()) expectTypeOf(line).toEqualTypeOf<string>()
  app.deployments({ status: 'live', createdAfter: '2026-01-01T00:00:00Z' })
  // @ts-expect-error an app has a repository
  void client.apps.create({ name: 'x' })
  // @ts-expect-error the repository stays
  void app.update({ gitUrl: 'x' })
  // @ts-expect-error no such status
  app.deployments({ status: 'done' })
})

test('webhooks and events', async () => {
  expectTypeOf(webhook.secret).toEqualTypeOf<string | null>()
  for await (const event of client.events({ type: ['deploy.*', 'build.failed'] })) {
    expectTypeOf(event).toEqualTypeOf<WorkspaceEvent>()
  }
  // @ts-expect-error no such type
  client.events({ type: 'deploy.done' })
  // @ts-expect-error pages are followed by the list itself
  client.webhooks.list({ cursor: 'x' })
  // @ts-expect-error a read has no idempotency key
  client.webhooks.list({ idempotencyKey: 'x' })
})

test('any route', async () => {
  const [template] = await client.request('GET /v1/templates', { query: { name: 'base' } })
  expectTypeOf(template?.memory_mb).toEqualTypeOf<number | undefined>()
  // @ts-expect-error no such route
  void client.request('GET /v1/nothing')
  // @ts-expect-error the path has a parameter
  void client.request('GET /v1/apps/{id}')
  // @ts-expect-error no such field
  void client.request('POST /v1/volumes', { body: { name: 'x', size: 5 } })
})

test('a search', () => {
  const branches = [{ name: 'x', run: async () => 5 }]
  const found = explore(sandbox, branches, { score: (value) => value })
  expectTypeOf(found).resolves.toHaveProperty('best').exclude<null>().toHaveProperty('value').toEqualTypeOf<number>()
  // @ts-expect-error a search has a score
  void explore(sandbox, branches, {})
  // @ts-expect-error a score is a number
  void explore(sandbox, branches, { score: (value) => String(value) })
})
