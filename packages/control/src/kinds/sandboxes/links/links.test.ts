import { randomUUID } from 'node:crypto'
import { MAX_PREVIEW_LINKS } from '@offshoot/contract/preview-link'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const VISIBILITY = 'visibility must be "public" or "private"'

describe('private sandboxes and their links', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let id: string

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  beforeEach(async () => {
    agent.onAction = async () => undefined
    id = (await as('POST', '/v1/sandboxes', { template: 'base' })).body.id
  })

  const as = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const change = (body: unknown) => as('PATCH', `/v1/sandboxes/${id}`, body)
  const links = (port: number | string = 3000) => `/v1/sandboxes/${id}/ports/${port}/links`
  const shown = async () => (await as('GET', `/v1/sandboxes/${id}`)).body.visibility

  it.each([{}, { visibility: null }, { visibility: 'secret' }, { visibility: true }])(
    'are not made by %j',
    async (body) => {
      expect(await change(body)).toMatchObject({ status: 400, body: { error: VISIBILITY } })
      const given = { template: 'base', ...body }
      if ('visibility' in body && body.visibility !== null) {
        expect(await as('POST', '/v1/sandboxes', given)).toMatchObject({ status: 400, body: { error: VISIBILITY } })
      }
    },
  )

  it('stay as they are if the agent does not answer, and the row and the agent agree later', async () => {
    agent.onAction = async () => ({ status: 500, body: { error: 'internal error' } })
    expect((await change({ visibility: 'private' })).status).toBe(500)
    expect(await shown()).toBe('public')
    const { rows } = await harness.pool.query('select lifecycle_unsettled_at as mark from sandboxes where id = $1', [
      id,
    ])
    expect(rows[0].mark).not.toBeNull()
  })

  it('are refused by an agent of a version that knows of none', async () => {
    const lifecycle = { persistent: false, idle_timeout_seconds: 600, idle_seconds: 0 }
    agent.onAction = async () => ({ status: 200, body: lifecycle })
    expect((await change({ visibility: 'private' })).status).toBe(502)
    expect(await shown()).toBe('public')
  })

  it('change by several requests at once to what the last one says', async () => {
    const wanted = ['private', 'public', 'private', 'public', 'private']
    const answers = await Promise.all(wanted.map((visibility) => change({ visibility })))
    expect(answers.map(({ status }) => status)).toEqual(wanted.map(() => 200))
    expect((await change({ visibility: 'private' })).body.visibility).toBe('private')
    expect([await shown(), agent.state.sandboxes.get(id)?.visibility]).toEqual(['private', 'private'])
  })

  it.each(['0', '65536', '-1', 'x', '1.5', '00080'])('have no links for the port %s', async (port) => {
    const error = 'port must be a number from 1 to 65535'
    for (const [method, path] of [
      ['POST', links(port)],
      ['GET', links(port)],
      ['DELETE', `${links(port)}/${randomUUID()}`],
    ] as const) {
      expect(await as(method, path, method === 'POST' ? {} : undefined)).toMatchObject({ status: 400, body: { error } })
    }
  })

  it.each([
    [{ expires_in_seconds: 0 }, 'expires_in_seconds must be >= 1'],
    [{ expires_in_seconds: 31_536_001 }, 'expires_in_seconds must be <= 31536000'],
    [{ expires_in_seconds: '60' }, 'expires_in_seconds must be an integer'],
    [{ label: 7 }, 'label must be a string'],
    [{ label: 'x'.repeat(129) }, 'label must be at most 128 characters'],
  ])('have no links with %j', async (body, error) => {
    expect(await as('POST', links(), body)).toMatchObject({ status: 400, body: { error } })
  })

  it('show the token of a link once, and store its hash', async () => {
    const made = await as('POST', links(), { label: 'for Bob', expires_in_seconds: 60 })
    const { token, url, ...link } = made.body
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store'])
    expect(token).toMatch(/^ofl_[\w-]{43}$/)
    expect(Date.parse(link.expires_at) - Date.parse(link.created_at)).toBe(60_000)
    expect(url).toBe(`http://3000-${id}.localhost:8081/?offshoot_token=${token}`)
    expect((await as('GET', links())).body).toEqual([link])
    expect((await as('GET', links(3001))).body).toEqual([])
    const { rows } = await harness.pool.query('select l::text as row from preview_links l where id = $1', [link.id])
    expect(rows[0].row).not.toContain(token.slice(4))
    for (const wrong of [`${links(3001)}/${link.id}`, `${links()}/${randomUUID()}`, `${links()}/x`]) {
      expect((await as('DELETE', wrong)).status).toBe(404)
    }
    const both = await Promise.all([1, 2].map(() => as('DELETE', `${links()}/${link.id}`)))
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404])
  })

  it('have so many links at the same time and no more, and they go with the sandbox', async () => {
    await harness.pool.query(
      `insert into preview_links (workspace_id, sandbox_id, port, token_hash, expires_at)
       select $1, $2, 3000, sha256(n::text::bytea), now() + case when n > 3 then interval '1 hour' else interval '-1 s' end
       from generate_series(1, $3::int + 2) n`,
      [alice.workspaceId, id, MAX_PREVIEW_LINKS],
    )
    const answers = await Promise.all([1, 2, 3].map(() => as('POST', links(), {})))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 429, 429])
    expect(answers.find(({ status }) => status === 429)?.body).toMatchObject({ max: MAX_PREVIEW_LINKS })
    expect((await as('POST', links(3001), {})).status).toBe(201)
    expect((await as('DELETE', `/v1/sandboxes/${id}`)).status).toBe(204)
    const { rows } = await harness.pool.query('select from preview_links where sandbox_id = $1', [id])
    expect(rows).toEqual([])
  })
})
