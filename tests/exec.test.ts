import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
})
afterAll(giveBack)

const exec = async (body: unknown, signal?: AbortSignal) =>
  offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body, ...(signal ? { signal } : {}) })
const running = async (word: string) =>
  Number((await offshoot.exec(id, `ps | grep -v grep | grep -c '${word}' || true`)).stdout) > 0

describe('exec', () => {
  it('answers with both streams, the exit code and the time it took', async () => {
    const answer = await exec({ cmd: 'echo out; echo err >&2; exit 3' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ stdout: 'out\n', stderr: 'err\n', exit_code: 3, duration_ms: expect.any(Number) })
  })

  it('runs the command under sh -c', async () => {
    expect((await exec({ cmd: 'for i in 1 2 3; do printf $i; done | tr -d 2' })).body.stdout).toBe('13')
    expect((await exec({ cmd: 'no-such-program' })).body.exit_code).toBe(127)
  })

  it('runs a program with its arguments, without a shell', async () => {
    const { body } = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
      body: { argv: ['printf', '%s|', '$HOME', 'a b', ''], cwd: '/tmp' },
    })
    expect(body).toMatchObject({ stdout: '$HOME|a b||', exit_code: 0 })
    const missing = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: { argv: ['no-such'] } })
    expect([missing.status, missing.body.error]).toEqual([400, expect.stringContaining('no-such')])
  })

  it('takes and answers bytes in base64', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_unused, value) => value))
    const { body } = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
      body: { cmd: 'tee /dev/stderr', stdin: bytes.toString('base64'), encoding: 'base64' },
    })
    expect([body.stdout, body.stderr]).toEqual([bytes.toString('base64'), bytes.toString('base64')])
    const timedOut = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
      body: { cmd: 'printf "\\377"; sleep 60', timeout_seconds: 1, encoding: 'base64' },
    })
    expect([timedOut.status, timedOut.body.stdout]).toEqual([504, '/w=='])
  })

  it('reports death by a signal as 128 + signal', async () => {
    expect((await exec({ cmd: 'kill -9 $$' })).body.exit_code).toBe(137)
    expect((await exec({ cmd: 'kill -15 $$' })).body.exit_code).toBe(143)
  })

  it('takes cwd, env, user and stdin', async () => {
    expect((await exec({ cmd: 'pwd', cwd: '/tmp' })).body.stdout).toBe('/tmp\n')
    expect((await exec({ cmd: 'printf %s "$A"', env: { A: 'ü\n"x"' } })).body.stdout).toBe('ü\n"x"')
    expect((await exec({ cmd: 'id -un', user: 'user' })).body.stdout).toBe('user\n')
    expect((await exec({ cmd: 'wc -c', stdin: 'x'.repeat(300_000) })).body.stdout.trim()).toBe('300000')
    expect((await exec({ cmd: 'cat' })).body.stdout).toBe('')
  })

  it('knows accounts as they are now, also when nothing else of their file has changed', async () => {
    for (const uid of [2001, 2002, 2003]) {
      const write = `grep -v ^ann: /etc/passwd > /tmp/p; echo ann:x:${uid}:${uid}::/:/bin/sh >> /tmp/p; cat /tmp/p > /etc/passwd`
      await offshoot.exec(id, write)
      expect((await exec({ cmd: 'id -u', user: 'ann' })).body.stdout).toBe(`${uid}\n`)
    }
  })

  it('names the option that cannot be', async () => {
    for (const [field, value] of [
      ['cwd', '/no/such/folder'],
      ['user', 'nobody-of-that-name'],
    ] as const) {
      const answer = await exec({ cmd: 'true', [field]: value })
      expect(answer.status).toBe(400)
      expect(answer.body.error).toContain(field)
    }
  })

  it('replaces invalid UTF-8 and keeps NUL', async () => {
    expect((await exec({ cmd: String.raw`printf 'a\377b\0c\303\251'` })).body.stdout).toBe('a\uFFFDb\0cé')
  })

  it('keeps 16 MiB of each stream and says that there was more', { tags: ['long'] }, async () => {
    const size = 16 * 1024 * 1024
    const more = await exec({ cmd: `head -c ${size + 100_000} /dev/zero | tr '\\0' x; echo end >&2` })
    expect(more.status).toBe(200)
    expect(more.body.stdout).toHaveLength(size)
    expect(more.body).toMatchObject({ stderr: 'end\n', exit_code: 0, truncated: true })
    const exact = await exec({ cmd: `head -c ${size} /dev/zero | tr '\\0' x` })
    expect(exact.body.stdout).toHaveLength(size)
    expect(exact.body).not.toHaveProperty('truncated')
  })

  it('kills the whole process group on timeout and answers 504 with what there was', async () => {
    const answer = await exec({ cmd: 'echo before; sleep 7001 & sleep 7001; echo after', timeout_seconds: 1 })
    expect(answer.status).toBe(504)
    expect(answer.body).toEqual({
      error: 'command timeout after 1s',
      stdout: 'before\n',
      stderr: '',
      duration_ms: expect.any(Number),
    })
    await until('no sleep left', async () => !(await running('sleep 7001')))
    expect((await exec({ cmd: 'sleep 7001', timeout: 1 })).body.error).toBe('command timeout after 1s')
  })

  it('kills the process group when the caller hangs up', async () => {
    const controller = new AbortController()
    const hungUp = exec({ cmd: 'sleep 7002 & sleep 7002' }, controller.signal)
    hungUp.catch(() => undefined)
    await until('the command running', async () => running('sleep 7002'))
    controller.abort()
    await expect(hungUp).rejects.toThrow('aborted')
    await until('no sleep left', async () => !(await running('sleep 7002')))
  })

  it('does not wait for what the command left in the background, nor end it', async () => {
    await exec({ cmd: 'i=0; while true; do i=$((i+1)); echo $i | tee /tmp/background; sleep 0.05; done &' })
    const count = async () => Number((await exec({ cmd: 'cat /tmp/background' })).body.stdout)
    const before = await until('the counter counting', count)
    await until('the counter going on', async () => (await count()) > before + 3)
  })

  it('runs many commands at once, each with its own output', { tags: ['faults'] }, async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => exec({ cmd: `sleep 0.1; echo ${i}; echo ${i} >&2; exit ${i}` })),
    )
    expect(answers.map(({ body }) => [body.stdout, body.stderr, body.exit_code])).toEqual(
      answers.map((_, i) => [`${i}\n`, `${i}\n`, i]),
    )
  })

  it.each([
    [{}, 'cmd required'],
    [{ cmd: '' }, 'cmd required'],
    [{ cmd: null }, 'cmd required'],
    [{ cmd: ['ls'] }, 'cmd must be a string'],
    [{ cmd: 'true', timeout_seconds: 0 }, 'timeout_seconds must be >= 1'],
    [{ cmd: 'true', timeout_seconds: 86_401 }, 'timeout_seconds must be <= 86400'],
    [{ cmd: 'true', timeout_seconds: 1.5 }, 'timeout_seconds must be an integer'],
    [{ cmd: 'true', timeout_seconds: '5' }, 'timeout_seconds must be an integer'],
    [{ cmd: 'true', env: { A: 1 } }, 'env must be a string map'],
    [{ cmd: 'true', env: [] }, 'env must be a string map'],
    [{ cmd: 'true', cwd: 7 }, 'cwd must be a string'],
    [{ cmd: 'true', stdin: {} }, 'stdin must be a string'],
    [{ cmd: 'a\0b' }, 'cmd must not contain NUL'],
    ['{', 'invalid json'],
    ['[]', 'invalid json'],
    ['"cmd"', 'invalid json'],
    ['null', 'invalid json'],
  ])('refuses %j with 400', async (body, error) => {
    const answer = await exec(body)
    expect([answer.status, answer.body.error]).toEqual([400, error])
  })
})
