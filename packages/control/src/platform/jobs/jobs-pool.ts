import { Pool, type PoolClient } from 'pg'

type Release = (broken?: Error | boolean) => void
/** A pool that has ended calls it with the error alone. */
type Connected = (error: Error | undefined, client?: PoolClient, release?: Release) => void

/**
 * Connections for graphile-worker, which may be given back twice.
 *
 * The engine gives the connection with which it listens back when it stops and also when that connection breaks. If both
 * happen at once, the second would be a rejection that nobody handles, which ends the process.
 */
export class JobsPool extends Pool {
  override connect(): Promise<PoolClient>
  override connect(connected: Connected): void
  override connect(connected?: Connected): Promise<PoolClient> | void {
    if (connected === undefined) return super.connect()
    super.connect((error, client, release) => {
      let unused: Release | undefined = release
      connected(error, client, (broken) => {
        unused?.(broken)
        unused = undefined
      })
    })
  }
}
