/** @module-tag faults */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OtlpReceiver } from '@offshoot/kit/test/otlp-receiver'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { options } from './setup/database.ts'
import { type Answer, type Call, call } from './setup/http.ts'
import { mailed } from './setup/mailed.ts'
import { Offshoot } from './setup/offshoot.ts'
import { visit } from './setup/preview.ts'
import { until } from './setup/until.ts'

const PASSWORD = 'a horse that nobody guesses'
const NEW_PASSWORD = 'another horse nobody guesses'
const APP_ENV_VALUE = 'env-value-that-stays-in-its-app'
const ENV_VALUE = 'env-value-that-stays-in-its-sandbox'
const CALLER = 'c'.repeat(16)

const continuing = (trace: string) => ({ traceparent: `00-${trace}-${CALLER}-01` })

/** Uses every secret in every way, then searches all stored and shown data for them. */
describe('secrets', () => {
  let offshoot: Offshoot
  let receiver: OtlpReceiver
  const secrets = new Map<string, string>()
  const refusals: string[] = []

  beforeAll(async () => {
    receiver = await OtlpReceiver.start()
    offshoot = await Offshoot.start('secrets', {
      templates: ['minimal', 'postgres-16'],
      env: {
        OFFSHOOT_DEFAULT_PLAN: 'enterprise',
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
      },
    })
    const {
      api_key: key,
      jwt,
      password,
      operator_key: operator,
    } = JSON.parse(await readFile(join(offshoot.dataDir, 'credentials.json'), 'utf8')) as Record<string, string>
    const config = await controlConfig()
    for (const [name, secret] of Object.entries({ key, jwt, password, operator })) keep(name, secret)
    keep('database password', config.database.password)
    keep('agent secret', config.agents[0]?.secret)
    keep('accounts secret', await readFile(join(offshoot.dataDir, 'control/accounts-secret'), 'utf8'))
    await useAccounts()
    await useKeys()
    await useDatabase()
    await useApp()
  })

  afterAll(async () => {
    await offshoot.destroy()
    await receiver.stop()
  })

  function keep(name: string, secret: string | undefined): string {
    if (secret === undefined || secret.length < 12) throw new Error(`${name} is no secret`)
    secrets.set(name, secret)
    return secret
  }

  async function controlConfig(): Promise<{ database: Record<string, string>; agents: { secret: string }[] }> {
    return JSON.parse(await readFile(join(offshoot.dataDir, 'config/control.json'), 'utf8'))
  }

  /** Sends a request, and keeps the text of a refusal. */
  async function ask(method: string, path: string, options: Call & { readonly token?: string } = {}): Promise<Answer> {
    const { token, headers = {}, ...rest } = options
    const answer = await call(method, offshoot.credentials.base_url + path, {
      ...rest,
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    })
    if (answer.status >= 400) refusals.push(answer.text)
    return answer
  }

  async function useAccounts(): Promise<void> {
    const account = { email: 'user@example.com', password: keep('password of a user', PASSWORD), name: 'User' }
    expect((await ask('POST', '/api/auth/sign-up/email', { body: account })).status).toBe(200)
    await ask('POST', '/api/auth/sign-in/email', { body: { ...account, password: 'a wrong horse entirely' } })
    keep('token that confirms an address', await mailed(offshoot, /verify-email\?token=([\w.-]+)/))
    await ask('POST', '/api/auth/request-password-reset', { body: { email: account.email } })
    const reset = keep('token that resets a password', await mailed(offshoot, /"token":"([^"]+)"/))
    const newPassword = keep('new password', NEW_PASSWORD)
    expect((await ask('POST', '/api/auth/reset-password', { body: { token: reset, newPassword } })).status).toBe(200)
    await ask('POST', '/api/auth/reset-password', { body: { token: reset, newPassword } })
    await ask('GET', `/api/auth/reset-password/${reset}?callbackURL=%2Fdone`)
    const session = await ask('POST', '/api/auth/sign-in/email', { body: { ...account, password: newPassword } })
    const token = keep('session', session.body.token)
    keep('jwt of a user', (await ask('GET', '/api/auth/token', { token })).body.token)
    const jwt = secrets.get('jwt') ?? ''
    const { body: me } = await ask('GET', '/v1/me', { token: jwt })
    const invited = await ask('POST', `/v1/orgs/${me.org.id}/members`, {
      token: jwt,
      body: { email: 'guest@example.com' },
    })
    expect(invited.status).toBe(201)
    const invitation = keep('invitation', await mailed(offshoot, /invites\/([\w-]+)\/accept/))
    await ask('POST', `/v1/orgs/invites/${invitation}/accept`, { token: jwt })
  }

  async function useKeys(): Promise<void> {
    const jwt = secrets.get('jwt') ?? ''
    const headers = { 'idempotency-key': 'once' }
    const made = await ask('POST', '/v1/me/tokens', { token: jwt, body: { name: 'k' }, headers })
    const key = keep('key that was made', made.body.token)
    const forged = keep('key that is none', `ofs_12345678_${'z'.repeat(32)}`)
    for (const token of [forged, `${jwt}x`, secrets.get('operator') ?? '']) {
      await ask('GET', '/v1/sandboxes', { token })
      await ask('GET', `/v1/sandboxes/x/events?access_token=${token}`)
    }
    const sandbox = await offshoot.create({
      template: 'minimal',
      env: { SECRET: keep('environment of a sandbox', ENV_VALUE) },
    })
    expect((await ask('GET', `/v1/sandboxes/${sandbox.id}/events?access_token=${key}`)).status).toBe(200)
    const command = { cmd: 'test "$GIVEN" = "$SECRET"', env: { GIVEN: ENV_VALUE } }
    expect((await ask('POST', `/v1/sandboxes/${sandbox.id}/exec`, { token: key, body: command })).body.exit_code).toBe(
      0,
    )
    await usePrivatePreview(sandbox.id, key)
    const { body: org } = await ask('GET', '/v1/me', { token: jwt })
    const operator = secrets.get('operator') ?? ''
    expect((await ask('POST', `/v1/admin/orgs/${org.org.id}/unsuspend`, { token: operator })).status).toBe(200)
  }

  /** A link's token in the query and the header, and the cookie that it is exchanged for. */
  async function usePrivatePreview(id: string, key: string): Promise<void> {
    await ask('PATCH', `/v1/sandboxes/${id}`, { token: key, body: { visibility: 'private' } })
    const { body: made } = await ask('POST', `/v1/sandboxes/${id}/ports/3000/links`, { token: key, body: {} })
    const token = keep('token of a link', made.token)
    const opened = await visit(offshoot, id, 3000, `/?offshoot_token=${token}`, { headers: { accept: 'text/html' } })
    const [cookie = ''] = (opened.headers['set-cookie'] ?? [])[0]?.split(';') ?? []
    keep('pass of a preview', cookie.split('=')[1])
    for (const headers of [{ cookie }, { 'x-offshoot-preview-token': token }, { 'x-offshoot-preview-token': key }]) {
      // Nothing listens there.
      expect((await visit(offshoot, id, 3000, '/', { headers })).status).toBe(502)
    }
    const { status } = await visit(offshoot, id, 3000, '/', { headers: { cookie: `${cookie}x` } })
    expect(status).toBe(401)
  }

  async function useDatabase(): Promise<void> {
    const token = secrets.get('key') ?? ''
    const { status, body } = await ask('POST', '/v1/databases', { token, headers: { 'idempotency-key': 'database' } })
    expect(status).toBe(201)
    const brokerToken = keep('broker token', body.broker_token)
    const password = keep('password of a database', body.password)
    const proxy = `/v1/databases/${body.id}/proxy`
    expect((await ask('POST', `${proxy}/v1/query`, { token: brokerToken, body: { sql: 'select 1' } })).status).toBe(200)
    await ask('POST', `${proxy}/v1/query`, { token: brokerToken, body: { sql: `select '${password}' from nowhere` } })
    await ask('POST', `${proxy}/v1/query`, { token: `${brokerToken}x`, body: { sql: 'select 1' } })
    const client = new Client(options(body.connection_url))
    await client.connect()
    await client.query('select 1')
    await client.end()
    const wrong = new Client(options(body.connection_url.replace(password, brokerToken)))
    await expect(wrong.connect()).rejects.toThrow(/password/)
  }

  async function useApp(): Promise<void> {
    const env = { SECRET: keep('environment of an app', APP_ENV_VALUE) }
    const body = { name: 'site', git_url: 'https://git.invalid/site.git', env }
    const made = await ask('POST', '/v1/apps', {
      token: secrets.get('key') ?? '',
      body,
      headers: { 'idempotency-key': 'app' },
    })
    expect(made.status).toBe(201)
    expect(found(made.text)).toEqual([])
  }

  /** Finds secrets in plain form, in PostgreSQL's hex form for bytes, and URL-encoded. */
  function found(text: string): string[] {
    return [...secrets].flatMap(([name, secret]) => {
      const bytes = Buffer.from(secret)
      const forms = [
        secret,
        bytes.toString('hex'),
        bytes.toString('base64').replaceAll('=', ''),
        encodeURIComponent(secret),
      ]
      return forms.some((form) => text.includes(form)) ? [name] : []
    })
  }

  it('are found where they are, by the search below', async () => {
    const credentials = await readFile(join(offshoot.dataDir, 'credentials.json'), 'utf8')
    expect(found(credentials)).toEqual(['key', 'jwt', 'password', 'operator'])
    expect(secrets.size).toBeGreaterThan(14)
  })

  it('are not in the database', async () => {
    const { database } = await controlConfig()
    const pool = new Pool(database)
    try {
      const { rows: tables } = await pool.query<{ name: string }>(
        `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
         where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
      )
      expect(tables.length).toBeGreaterThan(20)
      for (const { name } of tables) {
        const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`)
        expect([name, found(rows.map(({ row }) => row).join('\n'))]).toEqual([name, []])
      }
    } finally {
      await pool.end()
    }
  })

  it('are not in any log', async () => {
    const folder = join(offshoot.dataDir, 'logs')
    const names = await readdir(folder)
    expect(names).toEqual(expect.arrayContaining(['control.log', 'agent.log', 'postgres.log']))
    for (const name of names) expect([name, found(await readFile(join(folder, name), 'utf8'))]).toEqual([name, []])
    expect(
      found(offshoot.output.replaceAll(offshoot.credentials.e2b_api_key, '').replaceAll(secrets.get('key') ?? '', '')),
    ).toEqual([])
  })

  it('are not in refusals, figures, or what is public', async () => {
    expect(refusals.length).toBeGreaterThan(5)
    expect(found(refusals.join('\n'))).toEqual([])
    for (const path of ['/metrics', '/healthz', '/version', '/openapi.json']) {
      expect([path, found((await ask('GET', path)).text)]).toEqual([path, []])
    }
  })

  it('are not in telemetry, in which one trace goes through control or edge, agent and guest', async () => {
    const { id } = await offshoot.create({ template: 'minimal' })
    const [ofControl, ofEdge] = ['a'.repeat(32), 'b'.repeat(32)]
    const body = { cmd: `echo ${PASSWORD}` }
    const token = secrets.get('key') ?? ''
    expect(
      (await ask('POST', `/v1/sandboxes/${id}/exec`, { token, body, headers: continuing(ofControl) })).status,
    ).toBe(200)
    // Nothing listens, which the guest says.
    expect((await visit(offshoot, id, 3000, '/', { headers: continuing(ofEdge) })).status).toBe(502)
    const parents = (trace: string, last: string) =>
      until(`the span ${last} of ${trace}`, async () => {
        const spans = receiver.spans.filter((span) => span.trace === trace)
        const chain = []
        let span = spans.find(({ name }) => name === last)
        for (; span !== undefined; span = spans.find((each) => each.id === span?.parent))
          chain.unshift(`${span.service.replace('offshoot-', '')}: ${span.name}`)
        return spans.some(({ parent }) => parent === CALLER) && chain.length > 3 ? chain : null
      })
    expect(await parents(ofControl, 'guest run')).toEqual([
      'control: POST /v1/sandboxes/:id/exec',
      'control: POST',
      'agent: POST /v1/sandboxes/:id/exec',
      'agent: guest run',
    ])
    expect(await parents(ofEdge, 'guest dial')).toEqual([
      'edge: GET',
      'edge: GET',
      'agent: GET /v1/sandboxes/:id/ports/:port/stream',
      'agent: guest dial',
    ])
    await until('metrics', async () =>
      ['offshoot_http_request_duration_seconds', 'offshoot_agent_request_seconds'].every((name) =>
        receiver.metrics.some((metric) => metric.name === name),
      ),
    )
    expect(receiver.logs.some(({ trace, body: line }) => trace === ofControl && line === 'request')).toBe(true)
    const { spans, logs, metrics } = receiver
    for (const exported of [spans, logs, metrics]) expect(found(JSON.stringify(exported))).toEqual([])
  })

  it('are in no process’s command line', async () => {
    const lines: string[] = []
    for (const entry of await readdir('/proc')) {
      if (/^\d+$/.test(entry)) lines.push(await readFile(`/proc/${entry}/cmdline`, 'latin1').catch(() => ''))
    }
    expect(lines.some((line) => line.includes('config/control.json'))).toBe(true)
    expect(found(lines.join('\n'))).toEqual([])
  })
})
