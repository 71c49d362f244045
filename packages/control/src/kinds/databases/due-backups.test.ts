import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { KEPT_BACKUPS } from '@offshoot/contract/database'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness } from '../../test/harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await Harness.start()
})
afterAll(() => harness.stop())

const backups = async () =>
  (
    await harness.pool.query(
      `select b.database_id, b.origin, s.created_at from database_backups b join snapshots s on s.id = b.id order by s.created_at`,
    )
  ).rows as { database_id: string; origin: string; created_at: Date }[]
const dueIn = async (id: string) =>
  (
    await harness.pool.query(
      `select backup_due_at > now() + interval '23 hours' as later from databases where id = $1`,
      [id],
    )
  ).rows[0] as { later: boolean }

it('are taken once of each database whose day is over, and the oldest beyond those that are kept go', async () => {
  const agent = await FakeAgent.start()
  const first = await harness.control([agent])
  const tenant = await harness.tenant(first, 'backups')
  const make = async (dueAt: string): Promise<string> => {
    const options = { token: tenant.key, body: { template: 'base' } }
    const { id } = (await call(first.url, 'POST', '/v1/sandboxes', options)).body
    await harness.pool.query(
      `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds, backup_due_at)
       select id, workspace_id, '1g', 'ready', $2, '', 300, ${dueAt} from sandboxes where id = $1`,
      [id, randomBytes(8)],
    )
    return id as string
  }
  const due = await make(`now() - interval '1 second'`)
  await make(`now() + interval '1 hour'`)
  // A concurrent second process skips what the first one has claimed.
  const second = await harness.control([agent])
  await eventually(async () => (await dueIn(due)).later)
  expect(await backups()).toMatchObject([{ database_id: due, origin: 'daily' }])
  await harness.pool.query(
    `with old as (
       insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, egress, origin, status, size_bytes, created_at)
       select gen_random_uuid(), workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, egress, origin, status, size_bytes,
         created_at - make_interval(days => n) from snapshots, generate_series(1, $1::int) n returning id)
     insert into database_backups select id, $2, 'daily', '' from old`,
    [KEPT_BACKUPS, due],
  )
  await harness.pool.query(`update databases set backup_due_at = now() where id = $1`, [due])
  await eventually(async () => (await dueIn(due)).later && (await backups()).length === KEPT_BACKUPS)
  const oldest = (await backups())[0]?.created_at.getTime() ?? 0
  expect(oldest).toBeGreaterThan(Date.now() - (KEPT_BACKUPS - 1) * 24 * 3600 * 1000)
  await Promise.all([first.stop(), second.stop()])
  await agent.kill()
})
