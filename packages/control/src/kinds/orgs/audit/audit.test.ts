// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { insertMember } from '../identity/membership-statements.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const COUNT = 1_201

describe('an audit log with many entries', () => {
  let harness: Harness
  let control: RunningControl
  let alice: Tenant
  let carl: Tenant

  const list = (query: string, token = carl.jwt) => call(control.url, 'GET', `/v1/audit${query}`, { token })
  const lines = (text: string) => text.split('\n').slice(0, -1)

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([], {
      ...OPERATOR,
    })
    alice = await harness.tenant(control, 'alice')
    carl = await harness.tenant(control, 'carl')
    await harness.pool.query(
      `insert into audit_log (workspace_id, actor_type, actor_id, action, target, target_kind, ip, details, created_at)
         select $1, 'user', $2, 'request.made', 'target-' || n, 'sandbox', '192.0.2.1',
           jsonb_build_object('status', 200 + n, 'text', repeat('x', 20000)), '2026-01-01'::timestamptz - n * interval '1 s'
         from generate_series(1, $3::int) n`,
      [carl.workspaceId, carl.userId, COUNT],
    )
  })

  afterAll(async () => harness.stop())

  it.each([
    ['status=404', ['target-204']],
    ['target=target-7', ['target-7']],
    ['target=%00', []],
    ['target_kind=sandbox&status=203', ['target-3']],
    ['target_kind=volume', []],
    ['actor_type=key', []],
    ['request_id=x', []],
    ['created_after=2025-12-31T23:59:57Z', ['target-1', 'target-2']],
    ['from=2025-12-31T23:59:58Z', ['target-1', 'target-2']],
    ['created_before=2025-12-31T23:40:00Z', ['target-1201']],
  ])('filters by %s, in the list and in exports', async (query, targets) => {
    const targetsOf = (entries: readonly { target: string }[]) => entries.map(({ target }) => target)
    expect(targetsOf((await list(`?${query}`)).body)).toEqual(targets)
    const exported = await list(`/export?${query}`)
    expect(targetsOf(lines(exported.body).map((line) => JSON.parse(line)))).toEqual(targets)
    expect((await list(`?${query}&actor=${carl.userId}`)).body).toHaveLength(targets.length)
    expect((await list(`?${query}&actor=${alice.userId}`)).body).toEqual([])
  })

  it.each([
    ['status=99', 'status must be an integer from 100 to 599'],
    ['status=ok', 'status must be an integer from 100 to 599'],
    ['target_kind=car', 'target_kind must be one of '],
    ['actor_type=x', 'actor_type must be one of user, key, sandbox, operator, service'],
    ['action=x', 'action must be one of '],
    ['created_after=soon', 'created_after must be a timestamp'],
    ['actor=a&actor=b', 'actor must be given once'],
  ])('refuses %s, in the list and in exports', async (query, error) => {
    for (const path of ['', '/export']) {
      const answer = await list(`${path}?${query}`)
      expect([path, answer.status, answer.body.error]).toEqual([path, 400, expect.stringContaining(error)])
    }
  })

  it('is exported whole and in order, while the reader is slow, without a connection to the database', async () => {
    const { pool } = control.control.database
    const response = await fetch(`${control.url}/v1/audit/export`, {
      headers: { authorization: `Bearer ${carl.key}` },
    })
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="audit.ndjson"')
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    // Control cannot have sent all of the 24 MB, because the sockets do not buffer so much.
    await eventually(() => pool.idleCount === pool.totalCount)
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    const entries = lines(text).map((line) => JSON.parse(line))
    expect(entries.map(({ target }) => target)).toEqual(Array.from({ length: COUNT }, (_, n) => `target-${n + 1}`))
    expect(entries.slice(0, 100)).toEqual((await list('')).body)
  })

  it('is exported as CSV, in which no cell is a formula', async () => {
    const exported = async (target: string) => {
      const { rows } = await harness.pool.query(
        `insert into audit_log (workspace_id, actor_type, action, target, details, created_at)
         values ($1, 'service', 'request.made', $2, '{"a":"b"}', '2026-01-02') returning id`,
        [carl.workspaceId, target],
      )
      const { headers, body } = await list(`/export?format=csv&target=${encodeURIComponent(target)}`)
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
      const head = 'id,created_at,actor_type,actor_id,action,target_kind,target,ip,request_id,details\r\n'
      const start = `${head}${rows[0].id},2026-01-02T00:00:00.000Z,service,,request.made,,`
      expect(body.startsWith(start)).toBe(true)
      return body.slice(start.length)
    }
    const rest = ',,,"{""a"":""b""}"\r\n'
    expect(await exported('=1+1,"\r\nx')).toBe(`"'=1+1,""\r\nx"${rest}`)
    for (const first of ['=', '+', '-', '@', '\t', '＝']) expect(await exported(`${first}1`)).toBe(`'${first}1${rest}`)
    for (const first of ['\r', '\n']) expect(await exported(`${first}=1`)).toBe(`"'${first}=1"${rest}`)
    expect(await exported(`a=1 'x'`)).toBe(`a=1 'x'${rest}`)
    for (const format of ['xml', '', 'csv&format=csv']) {
      expect((await list(`/export?format=${format}`)).status).toBe(400)
    }
  })

  it('is shown and exported to its owners and to operators only', async () => {
    const member = await harness.tenant(control, 'member-of-carl')
    await insertMember(harness.pool, carl.workspaceId, member.userId, 'member')
    const headers = { 'x-offshoot-org': carl.workspaceId }
    for (const path of ['/v1/audit', '/v1/audit/export']) {
      expect((await call(control.url, 'GET', path, { token: member.jwt, headers })).status).toBe(403)
      expect((await call(control.url, 'GET', path, { token: alice.jwt, headers })).status).toBe(404)
      expect((await call(control.url, 'GET', path)).status).toBe(401)
      expect(JSON.stringify((await call(control.url, 'GET', path, { token: alice.jwt })).body)).not.toContain('target-')
      const admin = path.replace('/v1', '/v1/admin')
      for (const token of [carl.key, carl.jwt]) {
        expect((await call(control.url, 'GET', admin, { token })).status).toBe(401)
      }
    }
  })

  it('is in the log of all workspaces, with the entries that belong to none', async () => {
    const admin = (query: string) => call(control.url, 'GET', `/v1/admin/audit${query}`, { token: OPERATOR_KEY })
    const found = await admin(`?workspace_id=${carl.workspaceId}&target=target-7`)
    expect(found.body).toMatchObject([{ workspace_id: carl.workspaceId, target: 'target-7', target_kind: 'sandbox' }])
    expect((await admin('?workspace_id=x')).body).toEqual([])
    expect((await admin('?workspace_id=x&workspace_id=x')).status).toBe(400)
    await call(control.url, 'POST', '/v1/admin/keys/rotate', { token: OPERATOR_KEY })
    const { body: rotated } = await admin('?action=keys.rotated')
    const actor = { type: 'operator', id: expect.any(String), name: 'bootstrap' }
    expect(rotated[0]).toMatchObject({ workspace_id: null, actor, target_kind: 'sealing_key' })
    const exported = await admin(`/export?format=csv&target=target-7`)
    expect(exported.body).toContain(`\r\n${carl.workspaceId},,${found.body[0].id},`)
    expect(lines((await admin('/export?target=target-7')).body).map((line) => JSON.parse(line))).toEqual(found.body)
  })
})
