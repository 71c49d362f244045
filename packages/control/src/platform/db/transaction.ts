import type pg from 'pg'
import { isDatabaseUnreachable } from './database-unreachable.ts'
import { runHoldingConnection } from './tenant-pool.ts'

/**
 * Runs `work` on one connection between begin and commit. An error that `work` throws rolls the transaction back. The
 * server does that by itself when a connection ends, so one on which it does not answer is closed.
 */
export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await runHoldingConnection(() => work(client))
    await client.query('commit')
    return result
  } catch (error) {
    if (isDatabaseUnreachable(error)) broken = error as Error
    else
      await client.query('rollback').catch((rollback: Error) => {
        broken = rollback
      })
    throw error
  } finally {
    client.release(broken)
  }
}
