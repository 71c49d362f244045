// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@offshoot/kit/free-port'
import { serviceProgram } from '@offshoot/kit/test/service-program'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from './test/fake-agent.ts'
import { call, eventually } from './test/harness.ts'
import { startPostgres, type TestPostgres } from './test/postgres.ts'

const sourceFile = (name: string) => fileURLToPath(new URL(name, import.meta.url))

describe('the control process', () => {
  let postgres: TestPostgres
  let agent: FakeAgent
  let folder: string
  let configPath: string
  let url: string
  let key: string
  const children = new Set<ChildProcess>()

  beforeAll(async () => {
    postgres = await startPostgres()
    agent = await FakeAgent.start()
    folder = await mkdtemp(join(tmpdir(), 'offshoot-main-'))
    configPath = join(folder, 'control.json')
    const { host, port, user, password } = postgres
    const listen = { host: '127.0.0.1', port: await findFreePort() }
    url = `http://127.0.0.1:${listen.port}`
    const config = {
      listen,
      public_url: url,
      database: { host, port, user, password, database: 'postgres' },
      agents: [{ url: agent.url, secret: agent.secret }],
      data_dir: join(folder, 'data'),
      commit: 'abc',
      log_level: 'info',
    }
    await writeFile(configPath, JSON.stringify(config))
  })

  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await agent.kill()
    await postgres.stop()
    await rm(folder, { recursive: true })
  })

  async function bootstrap(...flags: string[]) {
    const child = spawn(process.execPath, [sourceFile('bootstrap.ts'), configPath, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (part: Buffer) => (out += part.toString()))
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect(code).toBe(0)
    expect(out).toMatch(/^\{.*\}\n$/)
    return JSON.parse(out) as { api_key: string | null; jwt: string; email: string; password: string | null }
  }

  async function startMain(output: 'pipe' | number = 'pipe') {
    const program = serviceProgram('control', sourceFile('main.ts'))
    const child = spawn(process.execPath, [program, configPath], { stdio: ['ignore', output, 'inherit'] })
    children.add(child)
    let log = ''
    child.stdout?.on('data', (part: Buffer) => (log += part.toString()))
    const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? code))
    })
    await eventually(async () => {
      const health = await call(url, 'GET', '/healthz').catch(() => null)
      return health?.body.checks.agents === 'ok'
    })
    return { child, ended, log: () => log }
  }

  it('is preceded by bootstrap, which shows secrets only when they are made', async () => {
    const first = await bootstrap()
    expect(first).toEqual({
      api_key: expect.stringMatching(/^ofs_/),
      jwt: expect.stringMatching(/^ey/),
      email: 'admin@offshoot.localhost',
      password: expect.stringMatching(/^.{20,}$/),
      sign_in_token: expect.stringMatching(/^\S{20,}$/),
    })
    const second = await bootstrap()
    expect(second).toMatchObject({ api_key: null, password: null, email: first.email })
    const renewed = await bootstrap('--new-key')
    expect(renewed.api_key).not.toBe(first.api_key)
    const { ended, child } = await startMain()
    const signIn = (password: string | null) =>
      call(url, 'POST', '/api/auth/sign-in/email', {
        body: { email: first.email, password },
        headers: { 'content-type': 'application/json' },
      })
    expect((await signIn(renewed.password)).status).toBe(200)
    expect((await signIn(first.password)).status).toBe(401)
    // The new password ends earlier tokens.
    expect((await call(url, 'GET', '/v1/me', { token: renewed.jwt })).body.user.email).toBe(first.email)
    key = renewed.api_key ?? ''
    expect((await call(url, 'GET', '/v1/sandboxes', { token: key })).status).toBe(200)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })

  it('finishes running requests after SIGTERM, and writes no credential to its log', async () => {
    const { ended, child, log } = await startMain()
    const { id } = (await call(url, 'POST', '/v1/sandboxes', { token: key, body: { template: 'base' } })).body
    const begun = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    agent.onExec = async () => {
      begun.resolve()
      await release.promise
      return { status: 200, body: { stdout: 'late', stderr: '', exit_code: 0, duration_ms: 1 } }
    }
    await call(url, 'GET', `/v1/nowhere?access_token=${key}`)
    const running = call(url, 'POST', `/v1/sandboxes/${id}/exec`, { token: key, body: { cmd: 'x' } })
    await begun.promise
    child.kill('SIGTERM')
    expect(await eventually(() => log().includes('"ending"'))).toBe(true)
    expect(await eventually(async () => (await call(url, 'GET', '/version').catch(() => null)) === null)).toBe(true)
    release.resolve()
    expect((await running).body.stdout).toBe('late')
    expect(await ended).toBe(0)
    expect(log()).toContain('"/v1/nowhere"')
    expect(log()).not.toContain(key.slice(-32))
  })

  it('answers although its log cannot be written', { tags: ['faults'] }, async () => {
    const full = await open('/dev/full', 'a')
    const { ended, child } = await startMain(full.fd)
    await full.close()
    for (const path of ['/v1/sandboxes', '/v1/nowhere', '/v1/sandboxes'])
      expect((await call(url, 'GET', path, { token: key })).status).toBe(path === '/v1/nowhere' ? 404 : 200)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })

  it(
    'killed in the middle of a create leaves rows and VMs that agree once it is back',
    { tags: ['long'] },
    async () => {
      for (const step of ['before', 'after'] as const) {
        const { ended, child } = await startMain()
        const begun = Promise.withResolvers<void>()
        agent.onCreate = async (id) => {
          if (step === 'after') agent.addSandbox(id, agent.requests.at(-1)?.workspaceId ?? '')
          begun.resolve()
          // Never answer: the process that asked is dead.
          return new Promise(() => undefined)
        }
        const lost = call(url, 'POST', '/v1/sandboxes', { token: key, body: { template: 'base' } })
        await begun.promise
        child.kill('SIGKILL')
        await expect(lost).rejects.toThrow('fetch failed')
        expect(await ended).toBe('SIGKILL')
        const again = await startMain()
        await eventually(async () => {
          const { body } = await call(url, 'GET', '/v1/sandboxes', { token: key })
          const rows = body.map((row: { id: string; status: string }) => `${row.id} ${row.status}`).sort()
          const vms = [...agent.state.sandboxes.values()].map((vm) => `${vm.id} ${vm.status}`).sort()
          return JSON.stringify(rows) === JSON.stringify(vms)
        })
        again.child.kill('SIGTERM')
        expect(await again.ended).toBe(0)
      }
      expect(agent.state.sandboxes.size).toBe(2)
    },
  )

  it('answers 503 at /healthz without its database', { tags: ['faults'] }, async () => {
    const { ended, child } = await startMain()
    await postgres.stop('SIGINT')
    // Control caches the database's last answer for a moment.
    const health = () => call(url, 'GET', '/healthz')
    await eventually(async () => (await health()).status === 503)
    expect((await health()).body).toMatchObject({ status: 'unavailable', checks: { database: 'unreachable' } })
    expect((await call(url, 'GET', '/v1/sandboxes', { token: key })).status).toBe(502)
    expect((await call(url, 'GET', '/metrics')).status).toBe(200)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})
