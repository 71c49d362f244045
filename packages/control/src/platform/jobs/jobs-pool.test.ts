import { EventEmitter, once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Logger, run, type WorkerEvents } from 'graphile-worker'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../test/harness.ts'
import { startMigratedPostgres, type TestPostgres } from '../../test/postgres.ts'
import { outliveBrokenConnections } from '../db/outlive-broken-connections.ts'
import { JobsPool } from './jobs-pool.ts'

describe('the connections of the job engine', () => {
  let postgres: TestPostgres
  let server: Server
  const listening: Socket[] = []

  /** Forwards to PostgreSQL all but the request to listen. */
  beforeAll(async () => {
    postgres = await startMigratedPostgres()
    server = createServer((socket) => {
      const upstream = connect(postgres.port, postgres.host)
      upstream.on('error', () => undefined).on('close', () => socket.destroy())
      upstream.pipe(socket)
      socket.on('error', () => undefined).on('close', () => upstream.destroy())
      socket.on('data', (data) => {
        if (data.includes('LISTEN "jobs:insert"')) listening.push(socket)
        else upstream.write(data)
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })

  afterAll(async () => {
    server.close()
    await postgres.stop('SIGINT')
  })

  it('may break while the engine stops and waits for the answer to its request to listen', async () => {
    const rejections: unknown[] = []
    const note = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const pool = new JobsPool({ ...postgres, port: (server.address() as AddressInfo).port, database: 'postgres' })
    outliveBrokenConnections(pool)
    const events: WorkerEvents = new EventEmitter()
    const stopsListening = once(events, 'pool:listen:release')
    const runner = await run({
      pgPool: pool,
      events,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      taskList: { nothing: () => undefined },
      parsedCronItems: [],
    })
    await eventually(() => listening.length === 1)
    const stopped = runner.stop()
    await stopsListening
    listening[0]?.destroy()
    await stopped
    await pool.end()
    expect(rejections).toEqual([])
  })
})
