import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { verifyNextBackup } from './verify-backup.ts'

let harness: Harness
let agent: FakeAgent
let running: RunningControl
let tenant: Tenant
let backupId: string
const never = new AbortController().signal

beforeAll(async () => {
  harness = await Harness.start()
  agent = await FakeAgent.start({ templates: ['postgres-16'] })
  running = await harness.control([agent])
  tenant = await harness.tenant(running, 'proofs')
  const id = await fakeDatabase(harness, running, tenant)
  const { status, body } = await ask('POST', `/v1/databases/${id}/backups`, {})
  expect([status, body]).toMatchObject([201, { verified: 'pending', verified_at: null, verify_error: null }])
  backupId = body.id
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const ask = (method: string, path: string, body?: object) =>
  call(running.url, method, path, { token: tenant.key, ...(body && { body }) })
const proof = async () =>
  (
    await harness.pool.query(
      `select verified, verify_error, proof_tries as tries, proof_due_at > now() as is_later, proof_lease_until from database_backups`,
    )
  ).rows[0]
// PostgreSQL rounds now() to milliseconds in this column, so a rounded-up "now" would not be due yet for the next
// query.
const dueNow = () =>
  harness.pool.query(`update database_backups set proof_due_at = now() - interval '1 second', proof_lease_until = null`)
/** The verification sandboxes that the agent was asked to create. */
const made: string[] = []

it('is postponed when users need the memory, before it begins and while it runs', async () => {
  agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
  await verifyNextBackup(running.control, never)
  expect(await proof()).toMatchObject({ verified: 'pending', tries: 0, is_later: true, proof_lease_until: null })
  // First the backup is not due yet, then another process holds its lease.
  agent.onCreate = async (id, { without_memory: isCold }) => void (isCold === true && made.push(id))
  await verifyNextBackup(running.control, never)
  await dueNow()
  await harness.pool.query(`update database_backups set proof_lease_until = now() + interval '1 minute'`)
  await verifyNextBackup(running.control, never)
  expect(made).toEqual([])
})

it('is postponed when the disk fills up or its agent dies, and its sandbox is removed', async () => {
  const { state, port } = agent
  const ends: { readonly how: string; readonly end: () => void }[] = [
    {
      how: 'full',
      end: () => {
        state.freeBytes = 1024
      },
    },
    { how: 'dead', end: () => void agent.kill() },
  ]
  for (const { how, end } of ends) {
    await dueNow()
    agent.onUpgrade = (_request, socket) => {
      end()
      socket.destroy()
    }
    await verifyNextBackup(running.control, never)
    expect([how, await proof()]).toMatchObject([how, { verified: 'pending', tries: 0, is_later: true }])
  }
  const id = made.splice(0).find((each) => state.sandboxes.has(each)) ?? ''
  expect(id).not.toBe('')
  state.freeBytes = 1024 ** 4
  agent = await FakeAgent.start({ templates: ['postgres-16'], state, port })
  await eventually(() => !state.sandboxes.has(id), 30_000)
  await eventually(() => running.control.fleet.agents.every((each) => each.isReachable), 30_000)
  agent.onCreate = async (each, { without_memory: isCold }) => void (isCold === true && made.push(each))
})

it('is invisible, counts for nothing, and fails after five attempts that could not be restored', async () => {
  const during: unknown[] = []
  let looking: Promise<unknown> = Promise.resolve()
  const look = async () => {
    const [one, all] = await Promise.all([ask('GET', `/v1/sandboxes/${made.at(-1)}`), ask('GET', '/v1/sandboxes')])
    during.push([one.status, all.body.length])
  }
  agent.onUpgrade = (_request, socket) => {
    looking = look().finally(() => socket.destroy())
  }
  for (let tries = 1; tries <= 5; tries++) {
    await dueNow()
    // Two processes compete; one of them claims the backup.
    await Promise.all([verifyNextBackup(running.control, never), verifyNextBackup(running.control, never)])
    await looking
    expect([made.length, (await proof()).verified]).toEqual([tries, tries < 5 ? 'pending' : 'failed'])
  }
  expect(await proof()).toMatchObject({ verify_error: expect.stringMatching(/^it could not be restored: /) })
  expect(during).toEqual(Array.from({ length: 5 }, () => [404, 1]))
  expect(made.filter((id) => agent.state.sandboxes.has(id))).toEqual([])
  // Records arrive in order. So once the later sandbox's event is there, all records of the verification sandboxes have
  // arrived.
  agent.onCreate = async () => undefined
  const { id: later } = (await ask('POST', '/v1/sandboxes', { template: 'postgres-16' })).body
  let reported = new Set<string>()
  await eventually(async () => {
    const { body } = await ask('GET', '/v1/events')
    reported = new Set((body as { sandbox_id: string }[]).map((each) => each.sandbox_id))
    return reported.has(later)
  })
  expect(made.filter((id) => reported.has(id))).toEqual([])
  const metered = await harness.pool.query('select id from meters where id = any($1)', [made])
  expect(metered.rows).toEqual([])
  await dueNow()
  await verifyNextBackup(running.control, never)
  expect(made).toHaveLength(5)
})

it('is of a backup that is no snapshot of anybody', async () => {
  expect((await ask('GET', '/v1/snapshots')).body).toEqual([])
  for (const [method, path, body] of [
    ['GET', `/v1/snapshots/${backupId}`, undefined],
    ['DELETE', `/v1/snapshots/${backupId}`, undefined],
    ['POST', '/v1/sandboxes', { template: 'postgres-16', from_snapshot: backupId }],
  ] as const)
    expect([path, (await ask(method, path, body)).status]).toEqual([path, 404])
})

/** A verification that gets no further than its sandbox. */
async function begin() {
  await harness.pool.query(`update database_backups set verified = 'pending', proof_tries = 0`)
  await dueNow()
  const begun = Promise.withResolvers<{ destroy(): unknown }>()
  agent.onCreate = async (id, { without_memory: isCold }) => void (isCold === true && made.push(id))
  agent.onUpgrade = (_request, socket) => begun.resolve(socket)
  const verification = verifyNextBackup(running.control, never)
  const socket = await begun.promise
  const id = made.at(-1) ?? ''
  const row = async () =>
    (await harness.pool.query('select managed_by, status from sandboxes where id = $1', [id])).rows[0]
  agent.cutStreams()
  await eventually(async () => (await row())?.status === 'running')
  const end = async () => {
    socket.destroy()
    await verification
  }
  return { id, row, end }
}

it('leaves its sandbox with a row, which no list shows, if the process ends, and the sandbox is removed when it expires', async () => {
  const { id, row, end } = await begin()
  expect([await row(), agent.state.sandboxes.has(id)]).toEqual([{ managed_by: 'proof', status: 'running' }, true])
  expect((await ask('GET', '/v1/sandboxes')).body.map((each: { id: string }) => each.id)).not.toContain(id)
  expect((await harness.pool.query('select from reconcile_waiting')).rowCount).toBe(0)
  await harness.pool.query('update sandboxes set expires_at = now() where id = $1', [id])
  expect(await eventually(async () => (await row()) === undefined)).toBe(true)
  expect(agent.state.sandboxes.has(id)).toBe(false)
  await end()
})

it('is begun anew, without the sandbox of before, as soon as its process has ended', async () => {
  const { id, row, end } = await begin()
  await verifyNextBackup(running.control, never)
  expect([await row(), (await proof()).is_later]).toEqual([{ managed_by: 'proof', status: 'running' }, true])
  await harness.pool.query('update sandboxes set creator = 2147483647 where id = $1', [id])
  const begun = Promise.withResolvers<void>()
  agent.onUpgrade = (_request, socket) => {
    begun.resolve()
    socket.destroy()
  }
  await eventually(async () => {
    await verifyNextBackup(running.control, never)
    return made.at(-1) !== id
  })
  await begun.promise
  expect(await eventually(async () => (await row()) === undefined)).toBe(true)
  expect([agent.state.sandboxes.has(id), made.filter((each) => agent.state.sandboxes.has(each))]).toEqual([false, []])
  await end()
})
