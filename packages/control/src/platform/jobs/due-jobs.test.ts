import { Client } from 'pg'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../test/harness.ts'
import { startMigratedPostgres } from '../../test/postgres.ts'
import { ProcessLock } from '../db/process-lock.ts'
import { Jobs } from './jobs.ts'
import { lane } from './task.ts'

const TASK = 'later'
const JOBS = 5_000
/** Of the search. All jobs that are due later fill more than fifty pages of each index. */
const MAX_PAGES = 20

interface Query {
  readonly text: string
  readonly values: unknown[]
}

/** Of the engine, for jobs that are due. */
const isSearch = (query: unknown): query is Query =>
  typeof query === 'object' &&
  query !== null &&
  'text' in query &&
  typeof query.text === 'string' &&
  /_private_jobs[^]*skip locked/.test(query.text)

it('are found without a look at those that are due later', async () => {
  const postgres = await startMigratedPostgres()
  onTestFinished(() => postgres.stop('SIGINT'))
  const { host, port, user, password } = postgres
  const database = { host, port, user, password, database: 'postgres' }
  const lock = await ProcessLock.take(database)
  onTestFinished(() => lock.release())
  const query = vi.spyOn(Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  const lanes = [lane('test', [{ name: TASK, due: async () => [], work: async () => undefined }])]
  const engine = new Jobs({ address: database, lock, log: pino({ level: 'silent' }), lanes })
  onTestFinished(async () => {
    engine.stop()
    await engine.finished()
  })
  const searches = () => query.mock.calls.map(([asked]: unknown[]) => asked).filter(isSearch)
  await eventually(async () => searches().length > 0)

  const client = new Client(database)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(
    `select count(graphile_worker.add_job('${TASK}', '{}', run_at := now() + n * interval '1 minute'))
     from generate_series(1, ${JOBS}) n`,
  )
  await client.query('vacuum analyze graphile_worker._private_jobs')
  const [{ text, values } = { text: '', values: [] }] = searches()
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values)
  const { Plan: plan } = rows[0]['QUERY PLAN'][0]
  expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(MAX_PAGES)
})
