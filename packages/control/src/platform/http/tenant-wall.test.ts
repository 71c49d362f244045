// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { FakeGitProvider } from '../../test/fake-git-provider.ts'
import { type Answer, call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { filledPath, type Ids, objectsOfEveryKind, WORDS } from '../../test/objects-of-every-kind.ts'

/** A body with every field that some route requires. */
const ACCEPTABLE = JSON.stringify({
  cmd: 'true',
  role: 'member',
  email: 'x@example.com',
  port: 3000,
  count: 2,
  name: 'mine',
  size_mb: 512,
  git_url: 'https://git.example.com/mine.git',
  signal: 'SIGINT',
  visibility: 'private',
})

/**
 * The routes come from the OpenAPI document of the running service, so none is forgotten. Bob asks each route with an
 * id for one of alice's objects and for an id that does not exist. He must not be able to tell the two answers apart.
 */
describe('the wall between workspaces', () => {
  let harness: Harness
  let agent: FakeAgent
  let provider: FakeGitProvider
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let operations: { method: string; path: string; credential: string | undefined }[]
  /** By the first path segment after `/v1/`, and for all paths that it does not list. */
  let owned: Record<string, Ids>

  beforeAll(async () => {
    agent = await FakeAgent.start()
    provider = await FakeGitProvider.start()
    harness = await Harness.start()
    const limits = { default_plan: 'enterprise', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const
    control = await harness.control([agent], { limits, github: provider.settings })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    const { body } = await call(control.url, 'GET', '/openapi.json')
    operations = Object.entries(body.paths as Record<string, Record<string, { security: object[] }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { security }]) => {
          const [scheme = {}] = security
          return { method: method.toUpperCase(), path, credential: Object.keys(scheme)[0] }
        }),
    )
    owned = await objectsOfEveryKind(harness, control, alice)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
    await provider.stop()
  })

  const asAlice = (method: string, path: string, body?: unknown, token = alice.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })

  const NOBODYS: Ids = {
    id: randomUUID(),
    exec_id: 'exec',
    port: '3000',
    name: 'nobodys',
    snapshot_id: randomUUID(),
    backup: randomUUID(),
    link_id: randomUUID(),
    deployment_id: randomUUID(),
    delivery_id: randomUUID(),
    path: 'x',
    prefix: 'ofs_00000000',
    key_id: randomUUID(),
    user_id: randomUUID(),
    invite_id: randomUUID(),
    token: 'y'.repeat(32),
    domain: 'nobodys.example.com',
  }

  /** Everything that a caller sees of a response, except the headers that always differ. */
  function seen({ status, headers, body }: Answer) {
    const { 'x-request-id': _id, date: _date, ...rest } = Object.fromEntries(headers)
    return { status, body, headers: rest }
  }

  /** Whether the path has an id, not only words. */
  const names = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].some(([, name]) => !((name ?? '') in WORDS))

  /** Bob's credentials with bodies: none, one that many routes accept, one that no route accepts. */
  function attempts(method: string, credential: string | undefined): (readonly [token: string, body?: string])[] {
    const plain = credential === 'jwt' ? [[bob.jwt] as const] : [[bob.key] as const, [bob.jwt] as const]
    if (method === 'GET' || method === 'DELETE') return plain
    const token = credential === 'jwt' ? bob.jwt : bob.key
    return [...plain, [token, ACCEPTABLE], [token, '{']]
  }

  it('stands at every route that names something', async () => {
    const named = operations.filter(
      ({ path, credential }) => names(path) && credential !== 'operator' && credential !== 'broker',
    )
    expect(named.length).toBeGreaterThan(40)
    const before = await everythingOfAlice()
    for (const { method, path, credential } of named) {
      const resource = path.split('/')[2] ?? ''
      const ids = owned[resource]
      if (ids === undefined) throw new Error(`say in objects-of-every-kind.ts what alice has under /v1/${resource}`)
      for (const [token, body] of attempts(method, credential)) {
        const ask = (target: string) =>
          call(control.url, method, `${target}?path=%2Fetc%2Fpasswd`, { token, ...(body !== undefined && { body }) })
        const [theirs, nobodys] = [await ask(filledPath(path, ids)), await ask(filledPath(path, NOBODYS))]
        expect([method, path, body, seen(theirs)]).toEqual([method, path, body, seen(nobodys)])
        // Control may refuse malformed JSON before it looks for the object.
        if (theirs.status === 400 && body === '{') continue
        expect([method, path, theirs.status, theirs.body]).toEqual([method, path, 404, { error: 'not found' }])
      }
    }
    expect(await everythingOfAlice()).toEqual(before)
  })

  /** The lists with alice's objects, and the requests that her agent received. */
  async function everythingOfAlice() {
    const lists = [
      '/v1/sandboxes',
      '/v1/snapshots',
      '/v1/templates',
      '/v1/volumes',
      '/v1/apps',
      '/v1/github/installations',
      '/v1/me/tokens',
      '/v1/orgs',
      `/v1/orgs/${alice.workspaceId}/members`,
      `/v1/orgs/${alice.workspaceId}/invites`,
    ]
    const answers = await Promise.all(lists.map((path) => asAlice('GET', path, undefined, alice.jwt)))
    return {
      // Control writes a key's last use with a delay.
      lists: answers.map(
        ({ status, body }) => `${status} ${JSON.stringify(body).replaceAll(/"last_used_at":[^,}]+/g, '')}`,
      ),
      vms: [...agent.state.sandboxes.values()],
      snapshots: [...agent.state.snapshots.keys()],
    }
  }

  it('stands in every list, with filters and with the other’s cursor', async () => {
    await asAlice('POST', '/v1/sandboxes', { template: 'base' })
    const page = await asAlice('GET', '/v1/sandboxes?limit=1')
    const cursor = /cursor=([^&>]+)/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
    expect(cursor).not.toBe('')
    const { id } = owned['sandboxes'] ?? {}
    const ids = [id, owned['snapshots']?.['id'], owned['me']?.['prefix']].flatMap((each) => each ?? [])
    const secrets = [alice.workspaceId, alice.userId, 'alice@example.com', 'carol@example.com', 'alices', ...ids]
    const lists = operations.filter(
      ({ method, path }) =>
        method === 'GET' &&
        path.startsWith('/v1/') &&
        !path.includes('{') &&
        // An endless stream, whose wall is in changes.test.ts.
        path !== '/v1/changes',
    )
    expect(lists.length).toBeGreaterThan(8)
    for (const { path, credential } of lists) {
      if (credential === 'operator' || credential === undefined) continue
      for (const query of [
        '',
        `?cursor=${cursor}`,
        `?sandbox_id=${id}`,
        `?template=alices&metadata.of=alice`,
        '?limit=1000',
      ]) {
        const { status, body } = await call(control.url, 'GET', path + query, { token: bob.jwt })
        expect([path, query, status < 500]).toEqual([path, query, true])
        // Bob's own entries repeat the names that he asked for.
        const parsed =
          path === '/v1/audit/export'
            ? body
                .split('\n')
                .filter(Boolean)
                .map((line: string) => JSON.parse(line))
            : body
        const text = JSON.stringify(parsed, (key, value) =>
          path.startsWith('/v1/audit') && key === 'target' ? null : value,
        )
        expect([path, query, secrets.filter((secret) => text.includes(secret))]).toEqual([path, query, []])
      }
    }
  })

  /** An answer may repeat the name that the caller sent. */
  const nameless = ({ status, body }: Answer, asked: { template: string; from_snapshot?: string | undefined }) => ({
    status,
    text: JSON.stringify(body).replaceAll(asked.from_snapshot ?? asked.template, 'NAME'),
  })

  it('stands in bodies that name something', async () => {
    const { id: snapshot } = owned['snapshots'] ?? {}
    const { id: sandbox } = owned['sandboxes'] ?? {}
    for (const token of [bob.key, bob.jwt]) {
      for (const body of [
        { template: 'base', from_snapshot: snapshot },
        { template: 'base', from_snapshot: sandbox },
        { template: 'alices' },
      ]) {
        const answer = await call(control.url, 'POST', '/v1/sandboxes', { token, body })
        const unknown = {
          ...body,
          ...('from_snapshot' in body ? { from_snapshot: randomUUID() } : { template: 'nobodys' }),
        }
        const other = await call(control.url, 'POST', '/v1/sandboxes', { token, body: unknown })
        expect(nameless(answer, body)).toEqual(nameless(other, unknown))
        expect(answer.status).toBe(404)
      }
      const volumes = (name: string) => ({ template: 'base', volumes: [{ name }] })
      const [theirs, nobodys] = [
        await call(control.url, 'POST', '/v1/sandboxes', { token, body: volumes('alices') }),
        await call(control.url, 'POST', '/v1/sandboxes', { token, body: volumes('nobodys') }),
      ]
      expect(theirs.status).toBe(404)
      expect(JSON.stringify(theirs.body).replaceAll('alices', 'nobodys')).toBe(JSON.stringify(nobodys.body))
    }
    for (const body of [{ org_id: alice.workspaceId }, { slug: 'alice' }]) {
      expect((await call(control.url, 'POST', '/v1/me/current-org', { token: bob.jwt, body })).status).toBe(404)
    }
  })

  it('stands at the header that picks a workspace, for every route that takes a token', async () => {
    for (const { method, path, credential } of operations) {
      if (credential === undefined || credential === 'operator' || credential === 'broker') continue
      const headers = { 'x-offshoot-org': alice.workspaceId }
      const target = filledPath(path, NOBODYS)
      const answer = await call(control.url, method, target, { token: bob.jwt, headers })
      expect([method, path, answer.status, answer.body]).toEqual([method, path, 404, { error: 'not found' }])
    }
  })
})
