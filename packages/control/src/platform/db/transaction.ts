import type pg from 'pg'
import { runHoldingConnection } from './tenant-pool.ts'

/** Runs `work` on one connection between begin and commit. An error that `work` throws rolls the transaction back. */
export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await runHoldingConnection(() => work(client))
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((rollback: Error) => {
      broken = rollback
    })
    throw error
  } finally {
    client.release(broken)
  }
}
