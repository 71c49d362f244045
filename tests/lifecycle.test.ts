import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { metricsCases } from './setup/metrics-cases.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const STOPPED = 'sandbox not running (paused or hibernated) — resume/wake it first'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const get = (id: string) => offshoot.request('GET', `/v1/sandboxes/${id}`)
const lifecycle = (id: string) => offshoot.request('GET', `/v1/sandboxes/${id}/lifecycle`)
const patch = (id: string, body: object) => offshoot.request('PATCH', `/v1/sandboxes/${id}/lifecycle`, { body })
const move = (id: string, transition: string) => offshoot.request('POST', `/v1/sandboxes/${id}/${transition}`)
const hasVm = async (id: string) => (await offshoot.virtualMachines()).some(({ sandboxId }) => sandboxId === id)
const eventTypes = async (id: string): Promise<string[]> =>
  (await offshoot.request('GET', `/v1/sandboxes/${id}/events?since=0`)).body
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type !== 'sandbox.ssh_ready')

async function moved(id: string, transition: string, status: string): Promise<void> {
  const answer = await move(id, transition)
  expect(answer).toMatchObject({ status: 200 })
  expect(answer.body).toMatchObject({ id, status })
  expect((await get(id)).body).toEqual(answer.body)
}

/** A process that counts in its own memory, and reports the count on SIGUSR1. */
const COUNTER = `n=0; trap 'echo $n > /tmp/told' USR1; while :; do n=$((n+1)); sleep 0.02 & wait $!; done`

async function startCounter(id: string): Promise<string> {
  const { stdout } = await offshoot.exec(id, `(${COUNTER}) </dev/null >/dev/null 2>&1 & echo $!`)
  return stdout.trim()
}

async function countOf(id: string, pid: string): Promise<number> {
  const ask = `rm -f /tmp/told; kill -USR1 ${pid} && while [ ! -s /tmp/told ]; do sleep 0.02; done; cat /tmp/told`
  const { stdout, stderr } = await offshoot.exec(id, ask)
  expect(stderr).toBe('')
  return Number(stdout)
}

describe('a sandbox', () => {
  it('is paused and resumed, and in between nothing runs in it', async () => {
    const { id } = await offshoot.create()
    const counter = await startCounter(id)
    await countOf(id, counter)
    await moved(id, 'pause', 'paused')
    await moved(id, 'pause', 'paused')
    for (const [method, path, body] of [
      ['POST', 'exec', { cmd: 'true' }],
      ['POST', 'exec/stream', { cmd: 'true' }],
      ['GET', 'fs?path=/etc/hostname', undefined],
      ['GET', 'execs', undefined],
    ] as const) {
      const answer = await offshoot.request(method, `/v1/sandboxes/${id}/${path}`, { body })
      expect(answer).toMatchObject({ status: 409, body: { error: STOPPED } })
    }
    for (const impossible of ['hibernate', 'wake']) {
      expect(await move(id, impossible)).toMatchObject({ status: 409, body: { error: STOPPED } })
    }
    await moved(id, 'resume', 'running')
    await moved(id, 'resume', 'running')
    expect(await countOf(id, counter)).toBeGreaterThan(0)
    await offshoot.delete(id)
  })

  it('is hibernated and woken with its memory, processes and files', async () => {
    const { id, ...before } = await offshoot.create({ template: 'minimal', env: { COLOUR: 'green' } })
    const counter = await startCounter(id)
    await offshoot.exec(id, 'echo kept > /root/file')
    const counted = await countOf(id, counter)
    await moved(id, 'hibernate', 'hibernated')
    expect(await hasVm(id)).toBe(false)
    expect((await move(id, 'pause')).status).toBe(409)
    await moved(id, 'wake', 'running')
    expect(await countOf(id, counter)).toBeGreaterThanOrEqual(counted)
    expect((await offshoot.exec(id, 'cat /root/file; echo $COLOUR')).stdout).toBe('kept\ngreen\n')
    const clock = Number((await offshoot.exec(id, 'date +%s')).stdout)
    expect(Math.abs(clock - Date.now() / 1000)).toBeLessThan(5)
    expect((await get(id)).body).toMatchObject({ created_at: before['created_at'], expires_at: before['expires_at'] })
    expect(await eventTypes(id)).toEqual(['sandbox.running', 'sandbox.hibernated', 'sandbox.woken'])
    await offshoot.delete(id)
  })

  it('that is hibernated without its memory boots from its disk', { tags: ['long'] }, async () => {
    const { id } = await offshoot.create({ template: 'minimal' })
    const bootId = async () => (await offshoot.exec(id, 'cat /proc/sys/kernel/random/boot_id')).stdout
    const before = await bootId()
    const refused = await offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`, { body: { memory: 'no' } })
    expect([refused.status, refused.body.error]).toEqual([400, 'memory must be a boolean'])
    for (const content of ['first', 'second']) {
      await offshoot.exec(id, `echo ${content} > /root/file`)
      const hibernated = await offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`, { body: { memory: false } })
      expect([hibernated.status, hibernated.body.status, await hasVm(id)]).toEqual([200, 'hibernated', false])
      const woken = await offshoot.request('POST', `/v1/sandboxes/${id}/wake`)
      expect([woken.status, woken.body.cold]).toEqual([200, true])
      expect((await offshoot.exec(id, 'cat /root/file')).stdout).toBe(`${content}\n`)
    }
    expect(await bootId()).not.toBe(before)
    await moved(id, 'hibernate', 'hibernated')
    expect((await offshoot.request('POST', `/v1/sandboxes/${id}/wake`)).body.cold).toBeUndefined()
    expect((await offshoot.exec(id, 'cat /root/file')).stdout).toBe('second\n')
    await offshoot.delete(id)
  })

  it('that is hibernated wakes once for all concurrent callers', async () => {
    const { id } = await offshoot.create()
    await moved(id, 'hibernate', 'hibernated')
    expect((await lifecycle(id)).status).toBe(200)
    expect((await get(id)).body.status).toBe('hibernated')
    const outputs = await Promise.all(Array.from({ length: 8 }, (_, n) => offshoot.exec(id, `echo ${n}`)))
    expect(outputs.map(({ stdout }) => stdout)).toEqual(outputs.map((_, n) => `${n}\n`))
    expect((await eventTypes(id)).filter((type) => type === 'sandbox.woken')).toHaveLength(1)
    await until('the row to say so', async () => (await get(id)).body.status === 'running')
    await offshoot.delete(id)
  })

  it('stays hibernated over a kill -9 of agent and control, and wakes then', async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo here > /tmp/memory')
    await moved(id, 'hibernate', 'hibernated')
    await Promise.all([offshoot.killService('agent'), offshoot.killService('control')])
    expect((await get(id)).body.status).toBe('hibernated')
    expect(await hasVm(id)).toBe(false)
    expect((await offshoot.exec(id, 'cat /tmp/memory')).stdout).toBe('here\n')
    await offshoot.delete(id)
  })

  it.each(['paused', 'hibernated'])('that is %s is deleted, several times at once', async (status) => {
    const { id } = await offshoot.create()
    await moved(id, status === 'paused' ? 'pause' : 'hibernate', status)
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => offshoot.request('DELETE', `/v1/sandboxes/${id}`)),
    )
    for (const answer of answers) expect([204, 404]).toContain(answer.status)
    expect((await get(id)).status).toBe(404)
    expect(await hasVm(id)).toBe(false)
    expect(await offshoot.folders()).not.toContain(id)
  })
})

const ACTIONS = ['pause', 'resume', 'hibernate', 'wake', 'snapshots', 'fork', 'exec'] as const
const act = (id: string, action: string) =>
  offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, { body: action === 'exec' ? { cmd: 'true' } : {} })
const STORM = [...ACTIONS, ...ACTIONS, ...ACTIONS]
const storm = (id: string) => STORM.map(async (action) => act(id, action))
async function removeAll(): Promise<void> {
  for (const { id } of (await offshoot.request('GET', '/v1/sandboxes')).body) await offshoot.delete(id)
  for (const { id } of (await offshoot.request('GET', '/v1/snapshots')).body) {
    await offshoot.request('DELETE', `/v1/snapshots/${id}`)
  }
}

describe('what it uses', () => {
  metricsCases(() => offshoot)
})

describe('everything at once', () => {
  it('is done, or refused as impossible; afterwards row and VM agree, and it works', async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo here > /tmp/memory')
    const answering = storm(id)
    await Promise.all(answering.filter((_answer, n) => STORM[n] !== 'exec'))
    // Commands that had begun are stopped in a paused sandbox, and their callers wait.
    if ((await get(id)).body.status === 'paused') await moved(id, 'resume', 'running')
    const answers = await Promise.all(answering)
    expect(answers.filter(({ status }) => ![200, 201, 409].includes(status))).toEqual([])
    const { status } = (await get(id)).body
    expect(await hasVm(id)).toBe(status !== 'hibernated')
    await moved(id, status === 'hibernated' ? 'wake' : 'resume', 'running')
    expect((await offshoot.exec(id, 'cat /tmp/memory')).stdout).toBe('here\n')
    await removeAll()
  })

  it('ends with a delete in the middle of it', async () => {
    const { id } = await offshoot.create()
    const acting = Promise.all(storm(id))
    await offshoot.delete(id)
    expect((await acting).filter(({ status }) => ![200, 201, 404, 409].includes(status))).toEqual([])
    expect((await get(id)).status).toBe(404)
    expect(await hasVm(id)).toBe(false)
    await removeAll()
    expect(await offshoot.virtualMachines()).toEqual([])
    expect(await offshoot.folders()).toEqual([])
  })
})

describe('its time to live', () => {
  it('ends it by the clock, not before', async () => {
    const { id, expires_at: expiresAt } = await offshoot.create({ template: 'minimal', ttl_seconds: 2 })
    const endsAtMs = Date.parse(String(expiresAt))
    await until('its end', async () => (await get(id)).status === 404)
    expect(Date.now()).toBeGreaterThanOrEqual(endsAtMs)
    expect(await hasVm(id)).toBe(false)
    // The deletion is in the log and in the rows before the agent removes the folder.
    await until('its folder gone', async () => !(await offshoot.folders()).includes(id))
  })

  it('is changed by PATCH, and is none while it is persistent', async () => {
    const { id } = await offshoot.create({ template: 'minimal', ttl_seconds: 300 })
    expect((await lifecycle(id)).body).toMatchObject({
      ttl_seconds: 300,
      persistent: false,
      idle_timeout_seconds: 600,
      idle_seconds: expect.any(Number),
    })
    expect((await patch(id, { persistent: true, idle_timeout_seconds: 60 })).body).toMatchObject({
      persistent: true,
      expires_at: null,
      idle_timeout_seconds: 60,
    })
    expect(await patch(id, { idle_timeout_seconds: 59 })).toMatchObject({
      status: 400,
      body: { error: 'idle_timeout_seconds must be >= 60' },
    })
    await patch(id, { ttl_seconds: 1 })
    expect((await get(id)).body).toMatchObject({ persistent: true, expires_at: null })
    const { body } = await patch(id, { persistent: false, ttl_seconds: 1 })
    expect(body).toMatchObject({ persistent: false, ttl_seconds: 1 })
    await until('its end', async () => (await get(id)).status === 404)
  })

  it(
    'hibernates it if it pauses; its memory is there after the wake, for the same time again',
    { tags: ['faults'] },
    async () => {
      const { id } = await offshoot.create({ template: 'minimal', ttl_seconds: 300, on_timeout: 'pause' })
      const counter = await startCounter(id)
      const counted = await countOf(id, counter)
      await patch(id, { ttl_seconds: 1 })
      await until('its hibernation', async () => (await get(id)).body.status === 'hibernated')
      expect((await get(id)).body).toMatchObject({ id, on_timeout: 'pause', expires_at: null })
      expect(await hasVm(id)).toBe(false)
      await patch(id, { ttl_seconds: 300 })
      const before = Date.now()
      const woken = await move(id, 'wake')
      expect(woken).toMatchObject({ status: 200, body: { id, status: 'running' } })
      expect(woken.body).not.toHaveProperty('cold')
      expect(Date.parse(woken.body.expires_at)).toBeGreaterThanOrEqual(before + 299_000)
      expect(await countOf(id, counter)).toBeGreaterThanOrEqual(counted)
      expect(await eventTypes(id)).toEqual(['sandbox.running', 'sandbox.hibernated', 'sandbox.woken'])
      await offshoot.delete(id)
    },
  )

  it(
    'hibernates it when control is back, also if it is paused then; a command wakes it',
    { tags: ['faults'] },
    async () => {
      const { id } = await offshoot.create({ template: 'minimal', ttl_seconds: 300, on_timeout: 'pause' })
      await offshoot.exec(id, 'echo here > /tmp/memory')
      await moved(id, 'pause', 'paused')
      await patch(id, { ttl_seconds: 1 })
      await Promise.all([offshoot.killService('agent'), offshoot.killService('control')])
      await until('its hibernation', async () => (await get(id)).body.status === 'hibernated')
      await patch(id, { ttl_seconds: 300 })
      expect((await offshoot.exec(id, 'cat /tmp/memory')).stdout).toBe('here\n')
      await patch(id, { on_timeout: 'delete', ttl_seconds: 1 })
      await until('its end', async () => (await get(id)).status === 404)
    },
  )

  it(
    'ends while control is dead, and is then made up for, also of one that is hibernated',
    { tags: ['faults'] },
    async () => {
      const { id } = await offshoot.create({ template: 'minimal', ttl_seconds: 300 })
      await moved(id, 'hibernate', 'hibernated')
      expect((await patch(id, { ttl_seconds: 1 })).status).toBe(200)
      await offshoot.killService('control')
      await until('its end', async () => (await get(id)).status === 404)
      await until('its folder gone', async () => !(await offshoot.folders()).includes(id))
    },
  )
})
