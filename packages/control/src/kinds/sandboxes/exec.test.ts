// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('POST /v1/sandboxes/{id}/exec', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let id: string
  let ranOnAgent: { cmd: string }[]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
    id = (await call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })).body.id
  })

  beforeEach(() => {
    ranOnAgent = []
    agent.onExec = async (body) => {
      ranOnAgent.push(body)
      return { status: 200, body: { stdout: body.cmd, stderr: '', exit_code: 0, duration_ms: 1 } }
    }
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const exec = (body: unknown, token = tenant.key) =>
    call(control.url, 'POST', `/v1/sandboxes/${id}/exec`, { token, body })

  it('gives the agent the body as it came, and the caller the answer', async () => {
    const body = {
      cmd: 'echo "ü\u0000"'.replace('\0', ''),
      stdin: 'in',
      timeout_seconds: 5,
      env: { A: 'b' },
      user: 'user',
      cwd: '/',
    }
    const answer = await exec(body, tenant.jwt)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ stdout: body.cmd, stderr: '', exit_code: 0, duration_ms: 1 })
    expect(ranOnAgent).toEqual([body])
  })

  it.each([
    { body: {}, error: 'cmd required' },
    { body: '', error: 'cmd required' },
    { body: { cmd: '' }, error: 'cmd required' },
    { body: { cmd: null }, error: 'cmd required' },
    { body: { cmd: ['ls'] }, error: 'cmd must be a string' },
    { body: { cmd: 'a\0b' }, error: 'cmd must not contain NUL' },
    { body: { cmd: 'x'.repeat(131_072) }, error: 'cmd must be at most 131071 characters' },
    { body: { cmd: 'ü'.repeat(70_000) }, error: 'cmd must be at most 131071 bytes' },
    { body: { cmd: 'ls', timeout_seconds: 0 }, error: 'timeout_seconds must be >= 1' },
    { body: { cmd: 'ls', timeout_seconds: 86_401 }, error: 'timeout_seconds must be <= 86400' },
    { body: { cmd: 'ls', timeout: 'soon' }, error: 'timeout must be an integer' },
    { body: { cmd: 'ls', cwd: 7 }, error: 'cwd must be a string' },
    { body: { cmd: 'ls', user: {} }, error: 'user must be a string' },
    { body: { cmd: 'ls', env: { A: 1 } }, error: 'env must be a string map' },
    { body: { cmd: 'ls', stdin: 1 }, error: 'stdin must be a string' },
    { body: '{', error: 'invalid json' },
    { body: '[]', error: 'invalid json' },
  ])('refuses a body before it reaches the agent: $error', async ({ body, error }) => {
    const answer = await exec(body)
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 400, body: { error } })
    expect(ranOnAgent).toEqual([])
  })

  it.each([
    [400, { error: 'unknown user: nobody2' }],
    [404, { error: 'sandbox not found or not running' }],
    [409, { error: 'sandbox not running (paused or hibernated) — resume/wake it first' }],
    [504, { error: 'command timeout after 1s', stdout: 'so far', stderr: '', duration_ms: 1000 }],
  ])('passes on the agent’s %d', async (status, body) => {
    agent.onExec = async () => ({ status, body })
    const answer = await exec({ cmd: 'true' })
    expect({ status: answer.status, body: answer.body }).toEqual({ status, body })
  })

  it.each([401, 403, 500, 502])('keeps the agent’s %d to itself', async (status) => {
    agent.onExec = async () => ({ status, body: { error: 'inside' } })
    const answer = await exec({ cmd: 'true' })
    expect(answer.status).toBe(500)
    expect(JSON.stringify(answer.body)).not.toContain('inside')
  })

  it('carries the largest input and output whole', { tags: ['faults'] }, async () => {
    const stdout = 'é'.repeat(8 * 1024 * 1024)
    agent.onExec = async (body) => {
      ranOnAgent.push(body)
      return { status: 200, body: { stdout, stderr: '', exit_code: 0, duration_ms: 1, truncated: true } }
    }
    const stdin = 'é'.repeat(8 * 1024 * 1024)
    const { status, body } = await exec({ cmd: 'cat', stdin })
    expect(status).toBe(200)
    expect(body.stdout === stdout).toBe(true)
    expect((ranOnAgent[0] as unknown as { stdin: string }).stdin === stdin).toBe(true)
  })

  it.each(['creating', 'failed'])('answers 404 for a sandbox that is %s', async (status) => {
    const other = await harness.twinOf(id, status)
    const answer = await call(control.url, 'POST', `/v1/sandboxes/${other}/exec`, {
      token: tenant.key,
      body: { cmd: 'true' },
    })
    expect(answer).toMatchObject({ status: 404, body: { error: 'sandbox not found or not running' } })
    expect(ranOnAgent).toEqual([])
  })

  describe('a caller who hangs up', () => {
    function send(body: string, contentLength = Buffer.byteLength(body)): Socket {
      const { hostname, port } = new URL(control.url)
      const socket = connect(Number(port), hostname)
      socket.write(
        `POST /v1/sandboxes/${id}/exec HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tenant.key}\r\n` +
          `content-length: ${contentLength}\r\n\r\n${body}`,
      )
      return socket
    }

    it('ends the agent’s request at once', async () => {
      const begun = Promise.withResolvers<void>()
      const ended = Promise.withResolvers<void>()
      agent.onExec = async (_body, request) => {
        begun.resolve()
        await new Promise((resolve) => request.socket.once('close', resolve))
        ended.resolve()
        return { status: 200, body: {} }
      }
      const socket = send('{"cmd":"sleep 1000"}')
      await begun.promise
      socket.destroy()
      await expect(ended.promise).resolves.toBeUndefined()
    })

    it('begins nothing when the body is not all there', async () => {
      const socket = send('{"cmd":"tr', 1000)
      await new Promise((resolve) => socket.once('connect', resolve))
      socket.destroy()
      // The second request took the same path. If the first had started a command, the agent would have seen it by now.
      expect((await exec({ cmd: 'second' })).status).toBe(200)
      expect(ranOnAgent.map(({ cmd }) => cmd)).toEqual(['second'])
    })
  })

  it('answers 502 when the agent ends in the middle, without saying how', async () => {
    agent.onExec = async (_body, request) => {
      request.socket.destroy()
      return { status: 200, body: {} }
    }
    const answer = await exec({ cmd: 'true' })
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 502, body: { error: 'agent unreachable' } })
  })

  it('is not held up by many commands that run long', { tags: ['faults'] }, async () => {
    const release = Promise.withResolvers<void>()
    let running = 0
    agent.onExec = async ({ cmd }) => {
      if (cmd === 'long') {
        running += 1
        await release.promise
      }
      return { status: 200, body: { stdout: '', stderr: '', exit_code: 0, duration_ms: 1 } }
    }
    const long = Array.from({ length: 300 }, () => exec({ cmd: 'long' }))
    const short = await exec({ cmd: 'short' })
    expect(short.status).toBe(200)
    release.resolve()
    for (const { status } of await Promise.all(long)) expect(status).toBe(200)
    expect(running).toBe(300)
  })
})
