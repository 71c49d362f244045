import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import type { AgentInfo, AgentRecord } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, OTHER_WORKSPACE } from '../../test/agent-process.ts'

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(() => agent.destroy())

/** A shell command that prints `name` for each process whose command line contains it, except itself. */
function findCommand(name: string): string {
  return `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '[${name[0]}]${name.slice(1)}'`
}

async function nothingLeft() {
  expect(await agent.folders()).toEqual([])
  expect(await agent.vms()).toEqual([])
  expect((await agent.list()).sandboxes).toEqual([])
}

describe('create, exec, delete', () => {
  it('runs commands in a guest with its own identity, and leaves nothing behind', async () => {
    const sandbox = await agent.created({ COLOUR: 'blue' })
    expect(sandbox).toMatchObject({ status: 'running', boot_mode: 'snapshot', template: 'minimal' })
    const cmd = 'echo $COLOUR; hostname; cat /etc/machine-id; date +%s'
    const { body } = await agent.exec(sandbox.id, { cmd })
    const [colour, hostname, machineId, seconds] = body.stdout.split('\n')
    expect([colour, hostname, machineId]).toEqual([
      'blue',
      `sbx-${sandbox.id.slice(0, 8)}`,
      sandbox.id.replaceAll('-', ''),
    ])
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(5)
    expect((await agent.delete(sandbox.id)).status).toBe(204)
    expect((await agent.delete(sandbox.id)).status).toBe(204)
    expect((await agent.exec(sandbox.id, { cmd: 'true' })).status).toBe(404)
    expect(await agent.events(sandbox.id)).toEqual(['sandbox.running', 'sandbox.deleted'])
    await nothingLeft()
  })

  it('never writes the env of a sandbox to disk', async () => {
    const secret = randomUUID()
    const sandbox = await agent.created({ SECRET: secret })
    const found = () =>
      execFileSync('sh', ['-c', `grep -rl ${secret} ${agent.dataDir}/sandboxes ${agent.dataDir}/events; true`])
    expect(found().toString()).toBe('')
    expect(agent.log).not.toContain(secret)
    await agent.delete(sandbox.id)
  })

  it('gives every clone its own random numbers', async () => {
    const sandboxes = await Promise.all([agent.created(), agent.created(), agent.created()])
    const cmd = 'head -c 32 /dev/urandom | od -An -tx1'
    const drawn = await Promise.all(sandboxes.map(async ({ id }) => (await agent.exec(id, { cmd })).body.stdout))
    expect(new Set(drawn).size).toBe(3)
    await Promise.all(sandboxes.map(({ id }) => agent.delete(id)))
  })

  it(
    'returns memory that a guest has freed to the host, and the guest can use it again',
    { tags: ['faults'] },
    async () => {
      const { id } = await agent.created()
      const freeMib = async () => Number(await agent.sh(id, "awk '/^MemFree:/ { print int($2 / 1024) }' /proc/meminfo"))
      const freeBefore = await freeMib()
      const [vm] = await agent.vms()
      const dirtyMib = async () => {
        const rollup = await readFile(`/proc/${vm?.process.pid}/smaps_rollup`, 'utf8')
        return Number(/^Private_Dirty: +(\d+) kB/m.exec(rollup)?.[1]) / 1024
      }
      await agent.sh(id, 'dd if=/dev/zero of=/run/filled bs=1M count=40')
      const filledMib = await dirtyMib()
      await agent.sh(id, 'rm /run/filled')
      await eventually('16 MiB fewer', async () => (await dirtyMib()) < filledMib - 16)
      await eventually('the guest has all of it', async () => (await freeMib()) > freeBefore - 8)
      await agent.delete(id)
    },
  )

  it('runs each QEMU under its own user, without capabilities or a way to gain any', async () => {
    const sandboxes = await Promise.all([agent.created(), agent.created()])
    const users = new Set<string>()
    for (const { process } of await agent.vms()) {
      const status = await readFile(`/proc/${process.pid}/status`, 'utf8')
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).toMatch(/^CapEff:\t0+$/m)
      expect(status).toMatch(/^CapBnd:\t0+$/m)
      expect(status).toMatch(/^Seccomp:\t2$/m)
      users.add(/^Uid:\t(\d+)/m.exec(status)?.[1] ?? '')
      expect(await readFile(`/proc/${process.pid}/limits`, 'utf8')).toMatch(/^Max core file size\s+0\s+0/m)
    }
    if (process.getuid?.() === 0) {
      expect(users.size).toBe(2)
      expect(users.has('0')).toBe(false)
    }
    await Promise.all(sandboxes.map(({ id }) => agent.delete(id)))
  })

  it('creates and deletes many at once', { tags: ['long'] }, async () => {
    const created = await Promise.all(Array.from({ length: 12 }, () => agent.create()))
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]))
    const answers = await Promise.all(created.map(({ body }) => agent.exec(body.id, { cmd: 'hostname' })))
    expect(answers.map(({ body }) => body.stdout.trim())).toEqual(
      created.map(({ body }) => `sbx-${body.id.slice(0, 8)}`),
    )
    const deleted = await Promise.all(created.flatMap(({ body }) => [agent.delete(body.id), agent.delete(body.id)]))
    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]))
    await nothingLeft()
  })

  it('refuses a second sandbox with the same id, and an unknown template', async () => {
    const { id } = await agent.created()
    expect((await agent.create(id)).status).toBe(409)
    const unknown = await agent.call('POST', '/v1/sandboxes', { body: { id: randomUUID(), template: 'none', env: {} } })
    expect(unknown.status).toBe(404)
    await agent.delete(id)
    await nothingLeft()
  })

  it('cancels a create when its sandbox is deleted', async () => {
    const id = randomUUID()
    const creating = agent.create(id)
    await eventually('the folder', async () => (await agent.folders()).includes(id))
    const deleted = await agent.delete(id)
    expect(deleted.status).toBe(204)
    expect(await creating).toMatchObject({ status: 404, body: { error: 'sandbox not found' } })
    await nothingLeft()
  })
})

describe('exec', () => {
  let id: string
  beforeAll(async () => {
    id = (await agent.created()).id
  })
  afterAll(() => agent.delete(id))

  it.each([
    ['exit 3', { exit_code: 3, stdout: '', stderr: '' }],
    ['kill -9 $$', { exit_code: 137 }],
    ['echo out; echo err >&2', { exit_code: 0, stdout: 'out\n', stderr: 'err\n' }],
    [String.raw`printf "a\377b\000c"`, { stdout: 'a\uFFFDb\0c' }],
    [String.raw`printf "\357\273\277bom"`, { stdout: '\uFEFFbom' }],
  ])('%s', async (cmd, expected) => {
    const { status, body } = await agent.exec(id, { cmd })
    expect(status).toBe(200)
    expect(body).toMatchObject(expected)
  })

  it('takes cwd, env, user and stdin', async () => {
    const cmd = 'pwd; echo $X; id -un; cat'
    const { body } = await agent.exec(id, { cmd, cwd: '/tmp', env: { X: 'y' }, user: 'user', stdin: 'in' })
    expect(body.stdout).toBe('/tmp\ny\nuser\nin')
  })

  it.each([
    ['cwd', { cmd: 'true', cwd: '/no/such' }, /cwd/],
    ['user', { cmd: 'true', user: 'nobody-here' }, /user/],
    ['cmd', {}, /^cmd required$/],
    ['timeout_seconds', { cmd: 'true', timeout_seconds: 0 }, /timeout_seconds/],
    ['env', { cmd: 'true', env: { A: 1 } }, /^env must be a string map$/],
  ])('reports an invalid %s', async (_field, body, text) => {
    const answer = await agent.exec<{ error: string }>(id, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error).toMatch(text)
  })

  it('keeps 16 MiB of each stream and lets the command go on', { tags: ['long'] }, async () => {
    const cmd = 'head -c 20000000 /dev/zero | tr "\\0" x; echo done >&2'
    const { body } = await agent.exec<{ stdout: string; stderr: string; truncated: boolean }>(id, { cmd })
    expect(body.stdout.length).toBe(16 * 1024 * 1024)
    expect(body).toMatchObject({ stderr: 'done\n', truncated: true, exit_code: 0 })
  })

  const running = async (name: string) => (await agent.exec(id, { cmd: findCommand(name) })).body.stdout

  it('kills the whole process group at the timeout, and returns the output until then', async () => {
    const answer = await agent.exec(id, { cmd: 'echo before; sleep 4711 & sleep 4711', timeout_seconds: 1 })
    expect(answer.status).toBe(504)
    expect(answer.body).toMatchObject({ error: 'command timeout after 1s', stdout: 'before\n', stderr: '' })
    await eventually('the group gone', async () => (await running('sleep 4711')) === '')
  })

  it('kills the command of a caller who disconnects', async () => {
    const caller = new AbortController()
    const answer = agent.exec(id, { cmd: 'sleep 4712' }, caller.signal).catch(() => 'left')
    await eventually('the command', async () => (await running('sleep 4712')) !== '')
    caller.abort()
    expect(await answer).toBe('left')
    await eventually('the command gone', async () => (await running('sleep 4712')) === '')
  })

  it('keeps a server running that was started in the background', async () => {
    await agent.exec(id, { cmd: 'sleep 4713 >/dev/null 2>&1 &' })
    expect(await running('sleep 4713')).not.toBe('')
  })
})

describe('ownership', () => {
  it('hides a sandbox from every other workspace', async () => {
    const { id } = await agent.created()
    const other = { workspace: OTHER_WORKSPACE }
    const answers = await Promise.all([
      agent.call('GET', `/v1/sandboxes/${id}`, other),
      agent.call('DELETE', `/v1/sandboxes/${id}`, other),
      agent.call('POST', `/v1/sandboxes/${id}/exec`, { ...other, body: { cmd: 'true' } }),
      agent.call('GET', `/v1/sandboxes/${randomUUID()}`, other),
    ])
    for (const { status, body } of answers)
      expect({ status, body }).toEqual({ status: 404, body: { error: 'sandbox not found' } })
    expect((await agent.call('GET', `/v1/sandboxes/${id}`)).status).toBe(200)
    expect((await agent.call('GET', '/v1/sandboxes')).status).toBe(404)
    await agent.delete(id)
  })

  it('refuses a credential with another signature', async () => {
    const bad = await agent.token(null, new Uint8Array(32))
    const answer = await agent.call('GET', '/v1/agent', { headers: { authorization: `Bearer ${bad}` } })
    expect(answer.body).toEqual({ error: 'unauthorized', detail: 'invalid api token' })
    expect((await agent.call('GET', '/v1/agent', { headers: { authorization: '' } })).status).toBe(401)
  })

  it('reports its sandboxes and resources to control', async () => {
    const { body } = await agent.call<AgentInfo>('GET', '/v1/agent', { workspace: null })
    expect(body.templates.map(({ name }) => name)).toEqual(['minimal'])
    expect(['kvm', 'tcg']).toContain(body.accelerator)
  })
})

describe('the log of the agent', () => {
  it('is streamed from any number on: first past records, then new ones', async () => {
    const { last_seq: after } = await agent.list()
    const past = await agent.created()
    const reader = new AbortController()
    const response = await agent.open(`/v1/agent/events?after=${after}`, reader.signal)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    let text = ''
    const reading = (async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
    })().catch(() => 'left')
    const live = await agent.created()
    await agent.delete(past.id)
    await eventually('the last record', async () => text.includes('sandbox.deleted'))
    reader.abort()
    expect(await reading).toBe('left')
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
    expect(ids).toEqual([after + 1, after + 2, after + 3])
    const records = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? '') as AgentRecord)
    expect(records.map(({ event }) => [event.sandbox_id, event.type])).toEqual([
      [past.id, 'sandbox.running'],
      [live.id, 'sandbox.running'],
      [past.id, 'sandbox.deleted'],
    ])
    await agent.delete(live.id)
  })
})

describe('the death of a VM', () => {
  it('marks the sandbox as failed, with the cause, until it is deleted', async () => {
    const { id } = await agent.created()
    const [vm] = await agent.vms()
    if (!vm) throw new Error('no QEMU')
    process.kill(vm.process.pid, 'SIGKILL')
    await eventually('failed', async () => (await agent.list()).sandboxes.some(({ status }) => status === 'failed'))
    const died = (await agent.records()).find(({ event }) => event.sandbox_id === id && event.type === 'vm.died')
    expect(died?.event).toMatchObject({ code: 'error', metadata: { exit_code: null, signal: 'SIGKILL' } })
    const refused = await agent.exec<{ error: string }>(id, { cmd: 'true' })
    expect(refused).toMatchObject({ status: 404, body: { error: 'sandbox not found or not running' } })
    await access(`${agent.dataDir}/sandboxes/${id}/manifest.json`)
    expect((await agent.delete(id)).status).toBe(204)
    await nothingLeft()
  })

  it('ends a running command with an answer', async () => {
    const { id } = await agent.created()
    const answer = agent.exec(id, { cmd: 'echo started; sleep 600' })
    const [vm] = await agent.vms()
    await eventually(
      'the command',
      async () => (await agent.exec(id, { cmd: findCommand('sleep 600') })).body.exit_code === 0,
    )
    if (vm) process.kill(vm.process.pid, 'SIGKILL')
    expect((await answer).status).toBe(404)
    await agent.delete(id)
  })

  it('is also recorded if the guest shuts itself down', async () => {
    const { id } = await agent.created()
    void agent.exec(id, { cmd: 'kill -TERM 1' }).catch(() => null)
    await eventually('failed', async () => (await agent.list()).sandboxes.some(({ status }) => status === 'failed'))
    expect(await agent.events(id)).toEqual(['sandbox.running', 'vm.died'])
    await agent.delete(id)
    await nothingLeft()
  })
})
