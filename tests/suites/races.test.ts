/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { untilConsistent, rowsOf } from '../setup/consistency.ts'
import type { Answer } from '../setup/http.ts'
import { borrow, giveBack } from '../setup/server-pool.ts'
import type { Offshoot } from '../setup/offshoot.ts'
import { SeededRandom } from '../setup/seeded-random.ts'

const AT_ONCE = 20
const TRANSITIONS = ['pause', 'resume', 'hibernate', 'wake'] as const
/** The transition that must precede another one for it to have an effect. */
const BEFORE: Partial<Record<string, string>> = { resume: 'pause', wake: 'hibernate' }
const AFTER = { pause: 'paused', resume: 'running', hibernate: 'hibernated', wake: 'running' } as const

const random = SeededRandom.fromEnvironment()
let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)
afterEach(async () => {
  for (const { id } of await rowsOf(offshoot)) await offshoot.delete(id)
  for (const { id } of (await offshoot.request('GET', '/v1/snapshots')).body)
    await offshoot.request('DELETE', `/v1/snapshots/${id}`)
  await untilConsistent(offshoot)
})

const act = (id: string, action: string, body?: object) =>
  offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, body ? { body } : {})
const statusOf = async (id: string) => (await offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status as string
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status)
const times = <T>(count: number, each: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => each(n)))

async function idsOf(count: number): Promise<string[]> {
  return (await times(count, () => offshoot.create())).map(({ id }) => id)
}

describe('the same at once', () => {
  it.each(TRANSITIONS)(`${AT_ONCE} times %s: each is answered with the state that the row has`, async (transition) => {
    const { id } = await offshoot.create()
    const before = BEFORE[transition]
    if (before) expect((await act(id, before)).status).toBe(200)
    const answers = await times(AT_ONCE, () => act(id, transition))
    for (const { status, body } of answers)
      expect({ status, body }).toMatchObject({ status: 200, body: { id, status: AFTER[transition] } })
    await untilConsistent(offshoot)
    expect(await statusOf(id)).toBe(AFTER[transition])
  })

  it('snapshots and forks: each is whole', async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo here > /root/file')
    const snapshots = await times(8, () => act(id, 'snapshots'))
    expect(new Set(statuses(snapshots))).toEqual(new Set([201]))
    const forks = await times(5, () => act(id, 'fork'))
    expect(new Set(statuses(forks))).toEqual(new Set([201]))
    const restored = await times(3, (n) =>
      offshoot.create({ template: 'minimal', from_snapshot: snapshots[n * 3]?.body.id }),
    )
    for (const child of [...forks.map(({ body }) => body as { id: string }), ...restored])
      expect((await offshoot.exec(child.id, 'cat /root/file')).stdout).toBe('here\n')
    await untilConsistent(offshoot)
  })

  it('20 deletes: the row is gone once', async () => {
    const { id } = await offshoot.create()
    for (const status of statuses(await times(AT_ONCE, () => offshoot.request('DELETE', `/v1/sandboxes/${id}`))))
      expect([204, 404]).toContain(status)
    expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).status).toBe(404)
    await untilConsistent(offshoot)
  })

  it('20 commands for one that is hibernated: one wake, all answered', async () => {
    const { id } = await offshoot.create()
    expect((await act(id, 'hibernate')).status).toBe(200)
    const outputs = await times(AT_ONCE, async (n) => (await offshoot.exec(id, `echo ${n}`)).stdout)
    expect(outputs).toEqual(Array.from({ length: AT_ONCE }, (_, n) => `${n}\n`))
    const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?since=0`)
    expect(body.filter(({ type }: { type: string }) => type === 'sandbox.woken')).toHaveLength(1)
    await untilConsistent(offshoot)
  })

  it('two promotions of one tree: one winner, and a tree without siblings', async () => {
    const { id } = await offshoot.create()
    const { body: tree } = await act(id, 'fork-tree', { count: 3 })
    const children = (tree.children as { id: string }[]).map((child) => child.id)
    const answers = await Promise.all(children.slice(0, 2).map((child) => act(child, 'promote')))
    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(1)
    for (const status of statuses(answers)) expect([200, 404, 409]).toContain(status)
    await untilConsistent(offshoot)
    const winner = String(answers.find(({ status }) => status === 200)?.body.winner)
    expect((await rowsOf(offshoot)).map((row) => row.id).toSorted()).toEqual([id, winner].toSorted())
  })
})

describe('different things at once', () => {
  const ALL = [...TRANSITIONS, 'snapshots', 'fork', 'exec']

  it(`of three sandboxes, in any order, leave rows and VMs agreeing (seed ${random.seed})`, async () => {
    const ids = await idsOf(3)
    await Promise.all(ids.map((id) => offshoot.exec(id, 'echo kept > /root/file; sync')))
    const asked = random.shuffled(ids.flatMap((id) => [...ALL, ...ALL].map((action) => ({ id, action }))))
    const answering = asked.map(async ({ id, action }) =>
      act(id, action, action === 'exec' ? { cmd: 'cat /root/file' } : undefined),
    )
    await Promise.all(answering.filter((_answer, n) => asked[n]?.action !== 'exec'))
    // Commands that had begun are stopped in a paused sandbox, and their callers wait.
    for (const { id, status } of await rowsOf(offshoot))
      if (status === 'paused') expect((await act(id, 'resume')).status).toBe(200)
    const answers = await Promise.all(answering)
    for (const [n, { status, text }] of answers.entries())
      expect({ action: asked[n]?.action, status, text, isUsual: [200, 201, 409].includes(status) }).toMatchObject({
        isUsual: true,
      })
    await untilConsistent(offshoot)
    for (const { id } of await rowsOf(offshoot))
      expect((await offshoot.exec(id, 'cat /root/file')).stdout).toBe('kept\n')
  })

  it(`and a delete amid them ends everything (seed ${random.seed})`, async () => {
    const ids = await idsOf(3)
    const asked = random.shuffled(ids.flatMap((id) => [...ALL, 'DELETE', 'DELETE'].map((action) => ({ id, action }))))
    const answers = await Promise.all(
      asked.map(({ id, action }) =>
        action === 'DELETE'
          ? offshoot.request('DELETE', `/v1/sandboxes/${id}`)
          : act(id, action, action === 'exec' ? { cmd: 'sleep 600' } : undefined),
      ),
    )
    for (const [n, { status, text }] of answers.entries())
      expect({
        action: asked[n]?.action,
        status,
        text,
        isUsual: status < 300 || [404, 409].includes(status),
      }).toMatchObject({ isUsual: true })
    await untilConsistent(offshoot)
    const left = (await rowsOf(offshoot)).map(({ id }) => id)
    expect(left.filter((id) => ids.includes(id))).toEqual([])
    for (const id of left) expect((await offshoot.exec(id, 'echo works')).stdout).toBe('works\n')
  })

  it('a delete of a snapshot while sandboxes are made from it: each works, or is refused', async () => {
    const { id } = await offshoot.create()
    const snapshot = (await act(id, 'snapshots')).body.id as string
    const body = { template: 'minimal', from_snapshot: snapshot }
    const creates = times(6, () => offshoot.request('POST', '/v1/sandboxes', { body }))
    const deletes = times(3, () => offshoot.request('DELETE', `/v1/snapshots/${snapshot}`))
    for (const status of statuses(await deletes)) expect([204, 404]).toContain(status)
    for (const answer of await creates) {
      expect([201, 404]).toContain(answer.status)
      if (answer.status === 201) expect((await offshoot.exec(answer.body.id, 'echo works')).stdout).toBe('works\n')
    }
    await untilConsistent(offshoot)
  })

  it('what names a sandbox that never was changes nothing', async () => {
    const answers = await times(ALL.length, (n) => act(randomUUID(), ALL[n] ?? '', { cmd: 'true' }))
    expect(new Set(statuses(answers))).toEqual(new Set([404]))
    expect(await rowsOf(offshoot)).toEqual([])
  })
})
