/** @module-tag long */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connected, createDatabase } from './setup/database.ts'
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

it.each([
  ['restored', 'any', 1],
  ['copied from a zygote', 'copy', 2],
] as const)(
  'a database whose guest was %s for the warm pool has nothing of what the guest ran there',
  async (_how, kind, creates) => {
    for (let i = 0; i < creates; i++) await createDatabase(offshoot)
    await until('a guest that waits', async () => hasSpare(offshoot, 'postgres-16', kind), SPARE_MS)
    const waiting = (await offshoot.spareMachines()).map(({ pid }) => pid)
    const database = await createDatabase(offshoot)
    const machine = (await offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === database.id)
    expect(waiting).toContain(machine?.pid)
    await connected(database.connection_url, async (client) => {
      const roles = (await client.query(ROLES)).rows.map(({ rolname }) => rolname)
      expect(roles).toEqual([database.username, 'postgres'])
      expect((await client.query(LEFT)).rows).toEqual([{ left: 0 }])
    })
  },
)
