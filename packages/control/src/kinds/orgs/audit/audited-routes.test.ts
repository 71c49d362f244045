/** @module-tag faults */
// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { hashInvitation } from '../invite-member.ts'
import { insertInvitation } from '../identity/invitation-statements.ts'
import { insertMember } from '../identity/membership-statements.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const SSH_KEYS = [
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAb8SsGZ5T3oRfPrl7o38IPvC3su1dOHNcBHz5ZCUlUJ',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPDWrQsO3SUkv6SIPtbhxmC3AAMpCpaWfSwkhi+fsWR0',
]
const INVITED = 'y'.repeat(32)

/** Changes without an entry, by route, tag or credential, with the reason. */
const UNRECORDED: Readonly<Record<string, string>> = {
  'Code interpreter': 'too frequent, and inside of a sandbox',
  Commands: 'too frequent, and inside of a sandbox',
  'POST /mcp': 'the requests that its tools make have entries of their own',
  Files: 'too frequent, and inside of a sandbox',
  broker: 'SQL over HTTP: too frequent, and inside of a database',
  Accounts: 'the library of accounts serves them; no credential of the API is needed',
  'POST /v1/webhooks/stripe': 'a signed message of the payment provider',
  'POST /v1/webhooks/gitprovider': 'a signed message of the git provider',
  'POST /v1/webhooks/github': 'a signed message of the git provider',
}

/** Fields of answers that may have secrets. */
const SECRET = /secret|password|token|env|_url$|^key$|private/
/** Such fields without a secret, by route. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  '/v1/usage': ['key'],
  '/v1/sandboxes/{id}/metrics': ['memory_host_private_bytes'],
  '/v1/gitprovider/repos': ['private', 'clone_url', 'html_url'],
  '/v1/github/repos': ['private', 'clone_url', 'html_url'],
  '/api/auth/token': ['token'],
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly credential: string
  readonly tag: string
  /** Names of all fields of the answer. */
  readonly fields: readonly string[]
}

interface Request {
  readonly path?: string
  readonly token?: string
  readonly body?: unknown
}

describe('the audit log, over all routes of the running service', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let operations: readonly Operation[]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], {
      ssh: { host: '127.0.0.1', port: 2222 },
      ...OPERATOR,
    })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    const { body } = await call(control.url, 'GET', '/openapi.json')
    operations = Object.entries(body.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([
          method,
          {
            security: [scheme = {}],
            tags: [tag = ''],
            responses,
          },
        ]) => {
          const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'))
          const fields = fieldsOf(
            answers.map(([, answer]) => answer),
            body.components.schemas,
          )
          return { method: method.toUpperCase(), path, credential: Object.keys(scheme)[0] ?? 'none', tag, fields }
        },
      ),
    )
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  interface Described {
    readonly security: readonly object[]
    readonly tags: readonly string[]
    readonly responses: Readonly<Record<string, object>>
  }

  function fieldsOf(schema: unknown, named: Readonly<Record<string, unknown>>): string[] {
    if (typeof schema !== 'object' || schema === null) return []
    if ('$ref' in schema) return fieldsOf(named[String(schema.$ref).replace('#/components/schemas/', '')], named)
    const own = 'properties' in schema ? Object.keys(schema.properties as object) : []
    return [...own, ...Object.values(schema).flatMap((each) => fieldsOf(each, named))]
  }

  const ask = async (method: string, path: string, token: string, body?: unknown) =>
    (await call(control.url, method, path, { token, ...(body !== undefined && { body }) })).body

  /** Requests that succeed, for the routes that record only a change that was made. */
  const successes: Readonly<Record<string, () => Promise<Request> | Request>> = {
    'POST /v1/me/ssh-keys': () => ({ body: { public_key: SSH_KEYS[0] } }),
    'DELETE /v1/me/ssh-keys/{key_id}': async () => {
      const { id } = await ask('POST', '/v1/me/ssh-keys', alice.jwt, { public_key: SSH_KEYS[1] })
      return { path: `/v1/me/ssh-keys/${id}` }
    },
    'POST /v1/ssh-certificates': () => ({ body: { public_key: SSH_KEYS[0] } }),
    'POST /v1/me/tokens': () => ({ body: { name: 'k' } }),
    'DELETE /v1/me/tokens': async () => {
      await ask('POST', '/v1/me/tokens', alice.jwt, { name: 'k' })
      return {}
    },
    'DELETE /v1/me/tokens/{prefix}': async () => {
      const { prefix } = await ask('POST', '/v1/me/tokens', alice.jwt, { name: 'k' })
      return { path: `/v1/me/tokens/${prefix}` }
    },
    'POST /v1/orgs': () => ({ body: { name: 'another' } }),
    'PATCH /v1/orgs/{id}': () => ({ body: { name: 'renamed' } }),
    'DELETE /v1/orgs/{id}': async () => {
      const { id } = await ask('POST', '/v1/orgs', alice.jwt, { name: 'short' })
      return { path: `/v1/orgs/${id}` }
    },
    'POST /v1/orgs/{id}/members': () => ({ body: { email: 'carol@example.com' } }),
    'DELETE /v1/orgs/{id}/invites/{invite_id}': async () => {
      const body = { email: 'dora@example.com' }
      const { id } = await ask('POST', `/v1/orgs/${alice.workspaceId}/members`, alice.jwt, body)
      return { path: `/v1/orgs/${alice.workspaceId}/invites/${id}` }
    },
    'POST /v1/orgs/invites/{token}/accept': async () => {
      const hash = hashInvitation(INVITED)
      await insertInvitation(harness.pool, alice.workspaceId, 'bob@example.com', 'member', hash, alice.userId)
      return { path: `/v1/orgs/invites/${INVITED}/accept`, token: bob.jwt }
    },
    'PATCH /v1/orgs/{id}/members/{user_id}': async () => {
      const eve = await memberOfAlice('eve')
      return { path: `/v1/orgs/${alice.workspaceId}/members/${eve.userId}`, body: { role: 'admin' } }
    },
    'DELETE /v1/orgs/{id}/members/{user_id}': async () => {
      const fred = await memberOfAlice('fred')
      return { path: `/v1/orgs/${alice.workspaceId}/members/${fred.userId}` }
    },
    'POST /v1/admin/hosts/{id}/drain': () => ({ path: '/v1/admin/hosts/self/drain' }),
    'POST /v1/admin/hosts/{id}/cordon': async () => {
      await ask('POST', '/v1/admin/hosts/self/uncordon', OPERATOR_KEY)
      return { path: '/v1/admin/hosts/self/cordon' }
    },
    'POST /v1/admin/hosts/{id}/uncordon': async () => {
      await ask('POST', '/v1/admin/hosts/self/cordon', OPERATOR_KEY)
      return { path: '/v1/admin/hosts/self/uncordon' }
    },
    'PATCH /v1/admin/hosts/{id}': () => ({ path: '/v1/admin/hosts/self', body: { labels: { audited: 'yes' } } }),
    'POST /v1/admin/hosts/tokens': () => ({}),
    'DELETE /v1/admin/hosts/{id}': async () => {
      const host = new JoiningHost()
      await host.join(control, (await ask('POST', '/v1/admin/hosts/tokens', OPERATOR_KEY)).token)
      return { path: `/v1/admin/hosts/${host.joined?.host_id}` }
    },
    'POST /v1/admin/hosts/authority/rotate': async () => {
      await control.control.fleetAuthority.get()
      return {}
    },
    'POST /v1/admin/hosts/authority/advance': async () => {
      await control.control.fleetAuthority.get()
      await ask('POST', '/v1/admin/hosts/authority/rotate', OPERATOR_KEY)
      return { body: { reason: 'x' } }
    },
    'POST /v1/admin/hosts/{id}/reconcile': () => ({ path: '/v1/admin/hosts/self/reconcile', body: { count: 0 } }),
    'POST /v1/admin/operators': () => ({ body: { name: 'x', role: 'viewer' } }),
    'PATCH /v1/admin/operators/{id}': async () => ({ path: await newOperator(), body: { name: 'y' } }),
    'DELETE /v1/admin/operators/{id}': async () => ({ path: await newOperator() }),
    'POST /v1/admin/operators/{id}/keys': async () => ({ path: `${await newOperator()}/keys`, body: { name: 'k' } }),
    'DELETE /v1/admin/operators/{id}/keys/{prefix}': async () => {
      const path = `${await newOperator()}/keys`
      return { path: `${path}/${(await ask('POST', path, OPERATOR_KEY, { name: 'k' })).prefix}` }
    },
    'POST /v1/admin/orgs/{id}/plan': () => ofBob('plan', { plan: 'self-hosted' }),
    'POST /v1/admin/orgs/{id}/suspend': () => ofBob('suspend', {}),
    'POST /v1/admin/orgs/{id}/unsuspend': () => ofBob('unsuspend', {}),
    'POST /v1/admin/orgs/{id}/credit': () => ofBob('credit', { credit_usd: 1, reason: 'x' }),
    'POST /v1/admin/orgs/{id}/rate': () => ofBob('rate', {}),
    'POST /v1/admin/orgs/{id}/placement': () => ofBob('placement', {}),
  }

  const newOperator = async () => {
    const { id } = await ask('POST', '/v1/admin/operators', OPERATOR_KEY, { name: 'x', role: 'viewer' })
    return `/v1/admin/operators/${id}`
  }
  const ofBob = (verb: string, body: unknown): Request => ({ path: `/v1/admin/orgs/${bob.workspaceId}/${verb}`, body })

  async function memberOfAlice(name: string): Promise<Tenant> {
    const made = await harness.tenant(control, name)
    await insertMember(harness.pool, alice.workspaceId, made.userId, 'member')
    return made
  }

  /** A path to an object of alice, if admission looks for it, and otherwise to nothing. */
  async function pathOf({ path }: Operation): Promise<string> {
    const id = path.startsWith('/v1/sandboxes/{id}')
      ? (await ask('POST', '/v1/sandboxes', alice.jwt, { template: 'base' })).id
      : path.startsWith('/v1/orgs/{id}')
        ? alice.workspaceId
        : randomUUID()
    return path.replace('{id}', id).replaceAll(/\{\w+\}/g, 'nothing')
  }

  /** Asks each route, and returns those without an entry of that request. */
  async function withoutEntry(asked: readonly Operation[]): Promise<string[]> {
    const requested = new Map<string, string>()
    for (const operation of asked) {
      const { method, path, credential } = operation
      const name = `${method} ${path}`
      const prepared = (await successes[name]?.()) ?? {}
      const token = prepared.token ?? (credential === 'operator' ? OPERATOR_KEY : alice.jwt)
      const id = randomUUID()
      requested.set(id, name)
      await call(control.url, method, prepared.path ?? (await pathOf(operation)), {
        token,
        headers: { 'x-request-id': id },
        ...(method !== 'GET' && method !== 'DELETE' && { body: prepared.body ?? {} }),
      })
    }
    const { rows } = await harness.pool.query('select distinct request_id from audit_log')
    for (const { request_id: id } of rows) requested.delete(id)
    return [...requested.values()]
  }

  it('has an entry of each change', async () => {
    const changes = operations.filter(
      ({ method, path, tag, credential }) =>
        method !== 'GET' && ![`${method} ${path}`, tag, credential].some((each) => each in UNRECORDED),
    )
    expect(changes.length).toBeGreaterThan(60)
    expect(await withoutEntry(changes)).toEqual([])
  })

  it('has an entry of each answer with a secret', async () => {
    const secrets = operations.filter(
      ({ method, path, fields }) =>
        method === 'GET' && fields.some((field) => SECRET.test(field) && HARMLESS[path]?.includes(field) !== true),
    )
    expect(secrets.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/v1/databases/{id}/connection', '/v1/apps']),
    )
    expect(await withoutEntry(secrets)).toEqual([])
  })

  it('knows no exception that does not exist', () => {
    const names = new Set(
      operations.flatMap(({ method, path, tag, credential }) => [`${method} ${path}`, tag, credential, path]),
    )
    const unknown = [UNRECORDED, HARMLESS, successes]
      .flatMap((each) => Object.keys(each))
      .filter((name) => !names.has(name))
    expect(unknown).toEqual([])
  })
})
