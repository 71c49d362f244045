import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Queryable } from '../../../platform/db/statement.ts'
import { startMigratedPostgres, type TestPostgres } from '../../../test/postgres.ts'
import { lockMeters, postCharges } from './meter-statements.ts'

const FEW = 100
const MANY = 40_000
/** Meters that one call names. */
const NAMED = 10
/** Of tables and indexes, for each named meter. An index of all meters has more than these for all named ones. */
const PAGES = 30

const CALLS = {
  'lock-meters': (on: Queryable, ids: readonly string[]) => lockMeters(on, ids),
  'post-charges': (on: Queryable, ids: readonly string[]) =>
    postCharges(
      on,
      ids,
      ids.map(() => new Date()),
    ),
}

let postgres: TestPostgres
let client: Client

/** PostgreSQL plans the statements of a connection while there are few meters. Then there are many. */
beforeAll(async () => {
  postgres = await startMigratedPostgres()
  const { host, port, user, password } = postgres
  client = new Client({ host, port, user, password, database: 'postgres' })
  await client.connect()
  await add(FEW)
  await client.query('vacuum analyze')
  await client.query('set plan_cache_mode = force_generic_plan')
  for (const run of Object.values(CALLS)) await run(client, await someIds())
  await add(MANY)
})

afterAll(async () => {
  await client.end()
  await postgres.stop('SIGINT')
})

/** Each meter has two transitions, and a charge for each of them. */
async function add(meters: number): Promise<void> {
  await client.query(
    `with made as (
       insert into meters (id, kind, workspace_id, cpu, memory_mib)
       select gen_random_uuid(), 'sandbox', $1, 1, 512 from generate_series(1, $2::int) returning id, workspace_id
     ), changed as (
       insert into meter_transitions (meter_id, at, state, cpu, micro_usd_per_month)
       select id, now() - n * interval '1 hour', 'running', 1, 1 from made, generate_series(1, 2) n returning meter_id, at
     )
     insert into ledger (meter_id, began_at, day, revision, workspace_id, state, seconds, cpu_seconds, micro_usd)
     select meter_id, at, at::date, 0, workspace_id, 'running', 1, 1, 1 from changed join made on id = meter_id`,
    [randomUUID(), meters],
  )
}

async function someIds(): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(`select id from meters limit ${NAMED}`)
  return rows.map(({ id }) => id)
}

it.each(Object.entries(CALLS))('%s reads the rows of its meters only', async (_name, run) => {
  const plans: string[] = []
  client.on('notice', ({ message = '' }) => plans.push(message.slice(message.indexOf('{'))))
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
    set auto_explain.log_buffers = on; set auto_explain.log_format = json; set client_min_messages = log`)
  await run(client, await someIds())
  await client.query(`reset client_min_messages`)
  const { Plan: plan } = JSON.parse(plans.at(-1) ?? '')
  expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(NAMED * PAGES)
})
