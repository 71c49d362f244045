/** @module-tag long */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connected, type Database } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { hasSpare } from './setup/spares.ts'
import { until } from './setup/until.ts'

const SPARE_MS = 90_000
const ROLES = `select rolname from pg_roles where rolname !~ '^pg_' order by 1`
const LEFT = `select count(*)::int as left from pg_class where relname = 'warm'`

let offshoot: Offshoot

beforeAll(async () => {
  offshoot = await Offshoot.start('databases-pool', { templates: ['postgres-16'], env: { OFFSHOOT_POOL_MIB: '512' } })
})
afterAll(async () => offshoot?.destroy())

async function create(): Promise<Database> {
  const { status, body, text } = await offshoot.request('POST', '/v1/databases', { body: {} })
  if (status !== 201) throw new Error(`create answered ${status}: ${text}`)
  return body as Database
}

it('a database whose guest waited in the warm pool has nothing of what the guest ran there', async () => {
  await create()
  await until('a guest that waits', async () => hasSpare(offshoot, 'postgres-16'), SPARE_MS)
  const [spare] = await offshoot.spareMachines()
  const database = await create()
  const machine = (await offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === database.id)
  expect(machine?.pid).toBe(spare?.pid)
  await connected(database.connection_url, async (client) => {
    const roles = (await client.query(ROLES)).rows.map(({ rolname }) => rolname)
    expect(roles).toEqual([database.username, 'postgres'])
    expect((await client.query(LEFT)).rows).toEqual([{ left: 0 }])
  })
})
