import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { type Change, changeKind, READERS_OF } from '@offshoot/contract/change'
import { readServerSentEvents, type ServerSentEvent } from '@offshoot/kit/server-sent-events'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { fakeDatabase } from '../../../test/fake-database.ts'
import { call, type CallOptions, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { objectsOfEveryKind } from '../../../test/objects-of-every-kind.ts'

/** One reader of a stream. */
interface Reader {
  readonly response: IncomingMessage
  readonly frames: ServerSentEvent[]
  /** The changes so far, each as `kind id`. */
  readonly changes: () => string[]
  readonly stop: () => void
}

const kindsIn = (reader: Reader) => new Set(reader.changes().map((each) => each.split(' ', 1)[0]))
const unmarked = (reader: Reader) => reader.changes().filter((each) => !each.startsWith('template mark-'))
/** Without the row of the workspace's plan, which its first create adds. */
const ofUsers = (reader: Reader) => unmarked(reader).filter((each) => !/^(workspace|member) /.test(each))
/** What every stream reports gets a name that no other test uses. */
let marks = 0

describe('GET /v1/changes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant
  let bob: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['base', 'postgres-16'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    other = await harness.control([agent])
    bob = await harness.tenant(control, 'bob')
  })

  beforeEach(async () => {
    tenants += 1
    alice = await harness.tenant(control, `alice${tenants}`)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = async (method: string, path: string, { token = alice.key, body }: CallOptions = {}) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })

  /** Tokens are valid only at the process that has made them. */
  const atHome = (token: string) => (token.startsWith('ofs_') ? other : control)

  async function follow(token: string, at = atHome(token)): Promise<Reader> {
    const request = httpGet(`${at.url}/v1/changes`, { headers: { authorization: `Bearer ${token}` }, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const frames: ServerSentEvent[] = []
    const read = async () => {
      for await (const batch of readServerSentEvents(response)) frames.push(...batch)
    }
    read().catch(() => undefined)
    const stop = () => void request.destroy()
    onTestFinished(stop)
    await eventually(() => response.statusCode !== 200 || frames[0]?.event === 'connected')
    const changes = () =>
      frames.flatMap(({ event, data }) => {
        const { kind, id } = JSON.parse(data) as Change
        return event === 'change' ? [`${kind} ${id}`] : []
      })
    return { response, frames, changes, stop }
  }

  /** A change that a stream reports after all that came before it. Every key may read it, and every user. */
  async function mark({ workspaceId }: Tenant, ...readers: Reader[]): Promise<void> {
    const name = `mark-${(marks += 1)}`
    await harness.pool.query(
      `insert into templates (name, workspace_id, rootfs_path, size_bytes, cpu, memory_mb, meta)
       values ($1, $2, 'x', 1, 1, 512, '{}')`,
      [name, workspaceId],
    )
    await eventually(() => readers.every((reader) => reader.changes().includes(`template ${name}`)))
  }

  async function keyWith(...scopes: string[]): Promise<string> {
    return (await ask('POST', '/v1/me/tokens', { token: alice.jwt, body: { name: 'scoped', scopes } })).body.token
  }

  it('reports objects of every kind in each process, and nothing to other workspaces', async () => {
    const [hers, keys, his] = [await follow(alice.jwt), await follow(alice.key), await follow(bob.jwt)]
    const owned = await objectsOfEveryKind(harness, control, alice)
    const sandbox = owned['sandboxes']?.['id']
    await harness.pool.query(
      `insert into template_builds (id, workspace_id, agent_id, creator, name, status, stage, size_mb, bytes)
       values (gen_random_uuid(), $1, $2, 0, 'mine', 'queued', 'waiting', 64, 1)`,
      [alice.workspaceId, agent.state.agentId],
    )
    await harness.pool.query(
      `insert into app_deployments (id, app_id, status, git_ref, origin_id, port)
       values (gen_random_uuid(), $1, 'failed', 'main', $1, 3000)`,
      [owned['apps']?.['id']],
    )
    await harness.pool.query(
      `insert into volumes (id, workspace_id, agent_id, creator, kind, name, size_mb, status)
       values (gen_random_uuid(), $1, $2, 0, 'snapshot', 'alices', 64, 'ready')`,
      [alice.workspaceId, agent.state.agentId],
    )
    await harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
      [alice.workspaceId, bob.userId],
    )
    const body = { name: 'renamed' }
    await ask('PATCH', `/v1/orgs/${alice.workspaceId}`, { token: alice.jwt, body })
    await mark(alice, hers, keys)
    expect(kindsIn(hers)).toEqual(new Set(changeKind.options))
    expect(kindsIn(keys)).toEqual(new Set(changeKind.options.filter((kind) => typeof READERS_OF[kind] === 'string')))
    expect(hers.changes()).toEqual(
      expect.arrayContaining([
        `sandbox ${sandbox}`,
        'template alices',
        'volume alices',
        'domain alices.example.com',
        `key ${owned['me']?.['prefix']}`,
        `ssh_key ${owned['me']?.['key_id']}`,
        `member ${bob.userId}`,
        `workspace ${alice.workspaceId}`,
      ]),
    )
    await mark(bob, his)
    expect(unmarked(his)).toEqual([])
  })

  it('reports that objects change and are deleted', async () => {
    const { body: sandbox } = await ask('POST', '/v1/sandboxes', { body: { template: 'base' } })
    const reader = await follow(alice.key)
    await ask('POST', `/v1/sandboxes/${sandbox.id}/pause`)
    await eventually(() => reader.changes().length > 0)
    const count = reader.changes().length
    await ask('DELETE', `/v1/sandboxes/${sandbox.id}`)
    await eventually(() => reader.changes().length > count)
    expect(new Set(reader.changes())).toEqual(new Set([`sandbox ${sandbox.id}`]))
  })

  it('reports what agents report, also to readers of a process that follows no agent', async () => {
    const id = randomUUID()
    agent.addSandbox(id, alice.workspaceId)
    await harness.pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds) values ($1, $2, $3, 0, 'base', 'running', 1, 512, true, 1, 1)`,
      [id, alice.workspaceId, agent.state.agentId],
    )
    const readers = [await follow(alice.key, control), await follow(alice.key, other)]
    agent.log('sandbox.paused', id)
    await eventually(() => readers.every((reader) => reader.changes().length > 0))
    expect(new Set(readers.flatMap(unmarked))).toEqual(new Set([`sandbox ${id}`]))
  })

  it('says that changes may have been missed when another process follows agents', { tags: ['faults'] }, async () => {
    const reader = await follow(alice.key, other)
    const late = await FakeAgent.start()
    const third = await harness.control([late])
    await eventually(() => reader.frames.some(({ event }) => event === 'missed'))
    await third.stop()
    await late.kill()
    expect(reader.response.destroyed).toBe(false)
  })

  it('reports to a key only what its scopes let it read, and to no key what users alone read', async () => {
    const jwt = await call(control.url, 'POST', '/v1/me/access-tokens', {
      token: alice.jwt,
      body: { scopes: ['templates:read', 'volumes:read'] },
    })
    const readers = [
      await follow(await keyWith('templates:read', 'sandboxes:read')),
      await follow(await keyWith('templates:read', 'apps:write')),
      await follow(jwt.body.token),
      await follow(alice.key),
    ]
    const { body: sandbox } = await ask('POST', '/v1/sandboxes', { body: { template: 'base' } })
    const { body: volume } = await ask('POST', '/v1/volumes', { body: { name: 'scoped', size_mb: 64 } })
    await keyWith('sandboxes:read')
    await mark(alice, ...readers)
    const [sandboxChange, volumeChange] = [`sandbox ${sandbox.id}`, `volume ${volume.name}`]
    expect(readers.map((reader) => [...new Set(unmarked(reader))])).toEqual([
      [sandboxChange],
      [],
      [volumeChange],
      [sandboxChange, volumeChange],
    ])
  })

  it('reports keys and invitations of others to those who manage them, and SSH keys to their user', async () => {
    const member = await harness.tenant(control, 'member')
    await harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
      [alice.workspaceId, member.userId],
    )
    const { token } = await control.control.accounts.api.signJWT({
      body: { payload: { sub: member.userId, org: alice.workspaceId } },
    })
    const [hers, theirs] = [await follow(alice.jwt), await follow(token)]
    const { body: key } = await ask('POST', '/v1/me/tokens', { token, body: { name: 'own' } })
    const { body: foreign } = await ask('POST', '/v1/me/tokens', { token: alice.jwt, body: { name: 'foreign' } })
    const body = { email: 'dora@example.com' }
    const { body: invite } = await ask('POST', `/v1/orgs/${alice.workspaceId}/members`, { token: alice.jwt, body })
    await harness.pool.query(
      `insert into ssh_keys (id, user_id, name, blob, fingerprint) values ($1, $1, 'laptop', '', 'x')`,
      [member.userId],
    )
    await mark(alice, hers, theirs)
    expect(ofUsers(hers)).toEqual([`key ${key.prefix}`, `key ${foreign.prefix}`, `invitation ${invite.id}`])
    expect(ofUsers(theirs)).toEqual([`key ${key.prefix}`, `ssh_key ${member.userId}`])
  })

  it('reports a database with its VM, and no trial restore', async () => {
    const id = await fakeDatabase(harness, control, alice)
    const reader = await follow(alice.key)
    await harness.pool.query(`update sandboxes set status = 'hibernated' where id = $1`, [id])
    await harness.pool.query(
      `insert into sandboxes select (jsonb_populate_record(s, '{"managed_by": "proof"}'::jsonb ||
         jsonb_build_object('id', gen_random_uuid()))).* from sandboxes s where id = $1`,
      [id],
    )
    await mark(alice, reader)
    expect(new Set(unmarked(reader))).toEqual(new Set([`database ${id}`, `sandbox ${id}`]))
  })

  it('reports ports that open in a sandbox, and none of its other events', async () => {
    const reader = await follow(alice.key)
    await harness.pool.query(
      `insert into events (workspace_id, ts, object_id, agent_id, type, code, message, metadata)
       select $1, now(), id, 'a', type, 'ok', '', '{}' from (values ($1::uuid, 'sandbox.port_opened'),
         (gen_random_uuid(), 'sandbox.ssh_ready')) as made (id, type)`,
      [alice.workspaceId],
    )
    await mark(alice, reader)
    expect(unmarked(reader)).toEqual([`sandbox ${alice.workspaceId}`])
  })

  it('reports no use of a key, and no update without a change of what the API shows', async () => {
    const reader = await follow(alice.jwt)
    await harness.pool.query('update api_keys set last_used_at = now() where workspace_id = $1', [alice.workspaceId])
    await harness.pool.query('update webhooks set held_until = now() where workspace_id = $1', [alice.workspaceId])
    await harness.pool.query(`update databases set backup_due_at = now() + interval '1 day' where workspace_id = $1`, [
      alice.workspaceId,
    ])
    await mark(alice, reader)
    expect(unmarked(reader)).toEqual([])
  })

  it('reports each of many objects that one statement changes', async () => {
    const reader = await follow(alice.key)
    const { rows } = await harness.pool.query<{ name: string }>(
      `insert into templates (name, workspace_id, rootfs_path, size_bytes, cpu, memory_mb, meta)
       select 'many-' || n, $1, 'x', 1, 1, 512, '{}' from generate_series(1, 400) n returning name`,
      [alice.workspaceId],
    )
    await mark(alice, reader)
    expect(unmarked(reader).toSorted()).toEqual(rows.map(({ name }) => `template ${name}`).toSorted())
  })

  it('says that changes may have been missed after the connection to the database broke', async () => {
    const reader = await follow(alice.key)
    await harness.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' or query = 'select 1'`,
    )
    await eventually(() => reader.frames.some(({ event }) => event === 'missed'))
    await mark(alice, reader)
    expect(unmarked(reader)).toEqual([])
  })

  it('needs a credential, and ends when the process stops', async () => {
    expect((await call(control.url, 'GET', '/v1/changes')).status).toBe(401)
    expect((await call(control.url, 'GET', '/v1/changes?access_token=ofs_x')).status).toBe(401)
    const third = await harness.control([agent])
    const reader = await follow(alice.key, third)
    third.control.openStreams.endAll()
    await eventually(() => reader.response.destroyed)
    expect(reader.frames.map(({ event }) => event)).toEqual(['connected'])
    await third.stop()
  })

  it('is refused to a workspace that follows too often, and to no other', { tags: ['faults'] }, async () => {
    const readers = await Promise.all(Array.from({ length: 100 }, () => follow(bob.key)))
    const refused = await call(other.url, 'GET', '/v1/changes', { token: bob.key })
    expect(refused).toMatchObject({ status: 429, body: { detail: 'too many streams of changes are open' } })
    const hers = await follow(alice.key)
    expect(hers.response.statusCode).toBe(200)
    readers[0]?.stop()
    await eventually(async () => (await follow(bob.key)).response.statusCode === 200)
  })
})
