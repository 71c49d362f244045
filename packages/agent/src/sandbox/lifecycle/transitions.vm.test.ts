import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentLifecycle, AgentSandbox } from '@offshoot/contract/agent-api'
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, WORKSPACE } from '../../test/agent-process.ts'
import { clockError } from '../../test/clock-error.ts'
import { HIBERNATED_MEANWHILE } from '../model/guest-access.ts'

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(() => agent.destroy())

const GONE = { error: 'sandbox not found or not running' }
const STOPPED = { error: 'sandbox not running (paused or hibernated) — resume/wake it first' }
const INTERRUPTED = { ...STOPPED, detail: HIBERNATED_MEANWHILE }
const CHANGES = ['pause', 'resume', 'hibernate', 'wake'] as const

async function statusOf(id: string): Promise<string> {
  return (await agent.call<AgentSandbox>('GET', `/v1/sandboxes/${id}`)).body.status
}

/** The states that were announced since the creation, without the first one. */
async function announced(id: string): Promise<string[]> {
  return (await agent.events(id)).filter((type) => type !== 'sandbox.ssh_ready').slice(1)
}

async function lifecycle(id: string): Promise<AgentLifecycle> {
  return (await agent.call<AgentLifecycle>('GET', `/v1/sandboxes/${id}/lifecycle`)).body
}

describe('a change of state', () => {
  let id: string
  beforeAll(async () => {
    id = (await agent.created()).id
  })
  afterAll(() => agent.delete(id))

  async function bringTo(state: string): Promise<void> {
    const now = await statusOf(id)
    if (now === state) return
    if (now === 'paused') await agent.act(id, 'resume')
    if (now === 'hibernated') await agent.act(id, 'wake')
    if (state === 'paused') await agent.act(id, 'pause')
    if (state === 'hibernated') await agent.act(id, 'hibernate')
    expect(await statusOf(id)).toBe(state)
  }

  it.each([
    ['running', 'pause', 'paused'],
    ['running', 'resume', 'running'],
    ['running', 'hibernate', 'hibernated'],
    ['running', 'wake', 'running'],
    ['paused', 'pause', 'paused'],
    ['paused', 'resume', 'running'],
    ['paused', 'hibernate', null],
    ['paused', 'wake', null],
    ['hibernated', 'pause', null],
    ['hibernated', 'resume', null],
    ['hibernated', 'hibernate', 'hibernated'],
    ['hibernated', 'wake', 'running'],
  ] as const)('of a %s sandbox by %s leads to %s', async (from, change, to) => {
    await bringTo(from)
    const before = await announced(id)
    const { status, body } = await agent.act<unknown>(id, change)
    if (to === null) expect({ status, body }).toEqual({ status: 409, body: STOPPED })
    else expect({ status, body }).toMatchObject({ status: 200, body: { id, status: to } })
    expect(await statusOf(id)).toBe(to ?? from)
    expect((await announced(id)).length - before.length).toBe(to === null || to === from ? 0 : 1)
  })

  it.each(CHANGES)('by %s is done once for 20 concurrent requests', async (change) => {
    await bringTo(change === 'resume' ? 'paused' : change === 'wake' ? 'hibernated' : 'running')
    const before = await announced(id)
    const answers = await Promise.all(Array.from({ length: 20 }, () => agent.act(id, change)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await announced(id)).length - before.length).toBe(1)
  })

  it('is done one after the other for different concurrent requests', async () => {
    await bringTo('running')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_unused, index) => agent.act(id, CHANGES[index % 4] ?? '')),
    )
    for (const { status } of answers) expect([200, 409]).toContain(status)
    const [vm, ...others] = await agent.vms()
    expect(others).toEqual([])
    const status = await statusOf(id)
    expect(vm !== undefined).toBe(status !== 'hibernated')
    await bringTo('running')
    expect(await agent.sh(id, 'hostname')).toBe(`sbx-${id.slice(0, 8)}`)
  })

  it('is refused for a failed and for an unknown sandbox', async () => {
    const { id: dead } = await agent.created()
    const snapshot = randomUUID()
    const others = (await agent.layers()).length
    await agent.act(dead, 'snapshots', { id: snapshot })
    await agent.call('DELETE', `/v1/snapshots/${snapshot}`)
    expect(await agent.layers()).toHaveLength(others + 1)
    const vm = (await agent.vms()).find(({ folder }) => folder.includes(dead))
    await agent.act(dead, 'pause')
    if (vm) process.kill(vm.process.pid, 'SIGKILL')
    await eventually('failed', async () => (await statusOf(dead)) === 'failed')
    expect((await agent.events(dead)).at(-1)).toBe('vm.died')
    await eventually('its layers gone', async () => (await agent.layers()).length === others)
    for (const change of CHANGES) {
      expect(await agent.act<unknown>(dead, change)).toMatchObject({ status: 404, body: GONE })
      expect(await agent.act<unknown>(randomUUID(), change)).toMatchObject({
        status: 404,
        body: { error: 'sandbox not found' },
      })
    }
    expect(await agent.act<unknown>(dead, 'snapshots', { id: randomUUID() })).toMatchObject({ status: 404, body: GONE })
    await agent.delete(dead)
  })
})

describe('a process in a sandbox', () => {
  it('continues after pauses and hibernations, with the correct time', async () => {
    const { id } = await agent.created({ COLOUR: 'blue' })
    await agent.sh(id, 'head -c 4000000 /dev/urandom > /root/data; sync')
    const hash = await agent.sh(id, 'md5sum < /root/data')
    const counting = 'exec 3>>/root/count; i=0; while :; do i=$((i+1)); echo $i >&3; sleep 0.02; done'
    const pid = await agent.sh(id, `(${counting}) >/dev/null 2>&1 & echo $!`)
    const count = async () => Number(await agent.sh(id, 'tail -n 1 /root/count'))
    await eventually('the counter', async () => (await count()) > 0)
    for (const [stop, start] of [
      ['pause', 'resume'],
      ['hibernate', 'wake'],
      ['hibernate', 'wake'],
      ['pause', 'resume'],
    ] as const) {
      const before = await count()
      expect((await agent.act(id, stop)).status).toBe(200)
      expect((await agent.act(id, start)).status).toBe(200)
      expect(await agent.sh(id, 'md5sum < /root/data; echo $COLOUR')).toBe(`${hash}\nblue`)
      expect(await clockError(agent, id)).toBeLessThanOrEqual(1)
      expect(await agent.sh(id, `kill -0 ${pid} && echo alive`)).toBe('alive')
      await eventually('a higher count', async () => (await count()) > before)
    }
    // If the loop had started again, its numbers would have, too.
    expect(await agent.sh(id, 'sort -n -c /root/count && echo sorted')).toBe('sorted')
    await agent.delete(id)
  })

  it('keeps its connection over a pause', async () => {
    const { id } = await agent.created()
    const answer = agent.exec(id, { cmd: 'touch /tmp/on; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo went' })
    await eventually('the command', async () => (await agent.exec(id, { cmd: 'test -e /tmp/on' })).body.exit_code === 0)
    await agent.act(id, 'pause')
    expect(await agent.exec<unknown>(id, { cmd: 'true' })).toMatchObject({ status: 409, body: STOPPED })
    await agent.act(id, 'resume')
    await agent.sh(id, 'touch /tmp/go')
    expect((await answer).body).toMatchObject({ stdout: 'went\n', exit_code: 0 })
    await agent.delete(id)
  })

  it.each(['pause', 'hibernate'])(
    'runs completely or never starts if it is requested just before a %s',
    { tags: ['faults'] },
    async (change) => {
      const { id } = await agent.created()
      const commands = Array.from({ length: 20 }, (_unused, n) => `echo ${n} >> /root/begun; echo ${n}`)
      const answering = commands.map(async (cmd) => agent.exec<{ stdout: string }>(id, { cmd }))
      expect((await agent.act(id, change)).status).toBe(200)
      // Started commands are stopped during a pause, and their callers wait.
      if (change === 'pause') await agent.act(id, 'resume')
      const answers = await Promise.all(answering)
      const begun = (await agent.sh(id, 'touch /root/begun; cat /root/begun')).split('\n').filter((line) => line !== '')
      expect(begun).toHaveLength(new Set(begun).size)
      for (const [n, { status, body }] of answers.entries()) {
        const isBegun = begun.includes(`${n}`)
        // Without a detail, nothing has begun.
        const refusal = 'detail' in body || isBegun ? INTERRUPTED : STOPPED
        if (status === 200) expect({ body, isBegun }).toMatchObject({ body: { stdout: `${n}\n` }, isBegun: true })
        else expect({ status, body }).toEqual({ status: 409, body: refusal })
      }
      if (change === 'pause') expect(answers.filter(({ status }) => status === 200)).toHaveLength(begun.length)
      await agent.delete(id)
    },
  )

  it('is stopped at its time limit, also while the sandbox is paused', { tags: ['long'] }, async () => {
    const { id } = await agent.created()
    const answer = agent.exec<unknown>(id, { cmd: 'touch /tmp/on; sleep 600', timeout_seconds: 3 })
    await eventually('the command', async () => (await agent.exec(id, { cmd: 'test -e /tmp/on' })).body.exit_code === 0)
    await agent.act(id, 'pause')
    expect(await answer).toMatchObject({ status: 504, body: { error: 'command timeout after 3s' } })
    await agent.act(id, 'resume')
    await eventually('its end', async () => (await agent.sh(id, 'ps | grep -c "[s]leep 600" || true')) === '0')
    await agent.delete(id)
  })

  it('ends with a hibernation if it is a foreground command, with a message, and continues in the background', async () => {
    const { id } = await agent.created()
    const background = 'while :; do echo tick; sleep 0.05; done'
    const { body: started } = await agent.exec<{ exec_id: string }>(id, { cmd: background, background: true })
    const foreground = agent.exec<unknown>(id, { cmd: 'touch /tmp/on; sleep 600' })
    const headers = { authorization: `Bearer ${await agent.token(WORKSPACE)}` }
    const socket = new WebSocket(`${agent.url}/v1/sandboxes/${id}/exec/ws`.replace('http', 'ws'), { headers })
    await once(socket, 'open')
    const frames: unknown[] = []
    socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())))
    socket.send(JSON.stringify({ id: 'a', cmd: 'touch /tmp/ws; sleep 600' }))
    const cmd = 'test -e /tmp/on -a -e /tmp/ws'
    await eventually('both', async () => (await agent.exec(id, { cmd })).body.exit_code === 0)
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect(await foreground).toMatchObject({ status: 409, body: INTERRUPTED })
    await eventually('a word', async () => frames.length > 0)
    expect(frames).toEqual([{ id: 'a', error: 'the sandbox was hibernated' }])
    expect((await agent.act(id, 'wake')).status).toBe(200)
    // The same socket, after the wake.
    frames.length = 0
    socket.send(JSON.stringify({ id: 'b', cmd: 'ps | grep -c "[s]leep 600"' }))
    await eventually('an end', async () => frames.length >= 2)
    expect(frames[0]).toMatchObject({ id: 'b', data: '0\n' })
    const path = `/v1/sandboxes/${id}/execs/${started.exec_id}`
    const { body: kept } = await agent.call<{ status: string; output_bytes: number }>('GET', path)
    expect(kept.status).toBe('running')
    socket.close()
    await agent.delete(id)
  })
})

describe('a hibernated sandbox', () => {
  it('is woken once by concurrent requests to its guest, even if some disconnect, and by no other request', async () => {
    const { id } = await agent.created()
    await agent.act(id, 'hibernate')
    await agent.call('GET', `/v1/sandboxes/${id}`)
    await agent.call('GET', `/v1/sandboxes/${id}/lifecycle`)
    await agent.call('GET', `/v1/sandboxes/${id}/logs`)
    expect(await statusOf(id)).toBe('hibernated')
    const first = new AbortController()
    const left = agent.exec(id, { cmd: 'hostname' }, first.signal).catch(() => 'left')
    await eventually('the wake', async () => (await agent.vms()).some(({ folder }) => folder.includes(id)))
    const others = Array.from({ length: 9 }, () => agent.sh(id, 'hostname'))
    first.abort()
    expect(await left).toBe('left')
    expect(new Set(await Promise.all(others))).toEqual(new Set([`sbx-${id.slice(0, 8)}`]))
    expect(await announced(id)).toEqual(['sandbox.hibernated', 'sandbox.woken'])
    await agent.delete(id)
  })

  it('lets requests during a hibernation wait, and wakes for them', async () => {
    const { id } = await agent.created()
    const sleeping = agent.act(id, 'hibernate')
    const folder = join(agent.dataDir, 'sandboxes', id)
    await eventually('its beginning', async () => (await readdir(folder)).includes('hibernation'))
    expect(await agent.sh(id, 'echo awake')).toBe('awake')
    expect((await sleeping).status).toBe(200)
    expect(await announced(id)).toEqual(['sandbox.hibernated', 'sandbox.woken'])
    await agent.delete(id)
  })
})

describe('a persistent sandbox', () => {
  it('hibernates after its idle timeout, also under the next agent', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    expect(await lifecycle(id)).toMatchObject({ persistent: false, idle_timeout_seconds: 600, idle_seconds: 0 })
    const busy = agent.sh(id, 'sleep 2.5; echo done')
    const patch = { persistent: true, idle_timeout_seconds: 1 }
    const { body } = await agent.call<AgentLifecycle>('PATCH', `/v1/sandboxes/${id}/lifecycle`, { body: patch })
    expect(body).toMatchObject(patch)
    expect(await busy).toBe('done')
    expect(await statusOf(id)).toBe('running')
    await eventually('sleep', async () => (await statusOf(id)) === 'hibernated')
    expect(await announced(id)).toEqual(['sandbox.hibernated'])
    expect(await agent.sh(id, 'echo awake')).toBe('awake')
    await agent.stop('SIGKILL')
    await agent.start()
    await eventually('sleep', async () => (await statusOf(id)) === 'hibernated')
    await agent.delete(id)
  })
})

describe('a delete', () => {
  it.each([...CHANGES, 'snapshots', 'exec'])(
    'cancels a %s in progress, also if two deletes come at once',
    async (what) => {
      const { id } = await agent.created()
      if (what === 'resume') await agent.act(id, 'pause')
      if (what === 'wake') await agent.act(id, 'hibernate')
      const body = what === 'snapshots' ? { id: randomUUID() } : what === 'exec' ? { cmd: 'sleep 600' } : undefined
      const changes = Array.from({ length: what === 'snapshots' ? 1 : 5 }, () => agent.act<unknown>(id, what, body))
      const deletes = [agent.delete(id), agent.delete(id)]
      for (const { status } of await Promise.all(deletes)) expect(status).toBe(204)
      for (const { status } of await Promise.all(changes)) expect([200, 201, 404, 409]).toContain(status)
      expect((await agent.delete(id)).status).toBe(204)
      expect((await agent.events(id)).at(-1)).toBe('sandbox.deleted')
      expect(await agent.folders()).not.toContain(id)
      expect((await agent.vms()).filter(({ folder }) => folder.includes(id))).toEqual([])
    },
  )
})
