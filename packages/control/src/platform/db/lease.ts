import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type pg from 'pg'
import { isAbandoned } from './abandoned.ts'
import type { ProcessLock } from './process-lock.ts'
import { statement } from './statement.ts'
import { transaction } from './transaction.ts'

/** Seconds after which a lease expires. No work under a lease may take longer. */
const LEASE_SECONDS = 300
/** Milliseconds for which a request waits for the current holder. */
const WAIT_MS = 60_000
const LOOK_MS = 100
/** Limits the requests that wait in this process, per name and in total: each of them polls PostgreSQL. */
const waiting = new FairLimit(16, 256)

export const takeLease = statement<{ name: string }, [name: string, holder: string, creator: number, seconds: number]>(
  'take-lease',
  `insert into leases as held (name, holder, creator) values ($1, $2, $3)
   on conflict (name) do update set holder = excluded.holder, creator = excluded.creator, created_at = now()
     where ${isAbandoned('held', '$4')}
   returning name`,
)

export const holdLease = statement<{ name: string }, [name: string, holder: string]>(
  'hold-lease',
  'select name from leases where name = $1 and holder = $2 for update',
)

export const endLease = statement<never, [name: string, holder: string]>(
  'end-lease',
  'delete from leases where name = $1 and holder = $2',
)

/** Writes in one transaction if this request still holds the lease. @throws ApiError 409 if it lost the lease */
export type Commit = <T>(write: (client: pg.PoolClient) => Promise<T>) => Promise<T>

/**
 * Runs `work` while no other request in any process runs work under the same name.
 *
 * It is meant for work that waits for the network, whose duration a tenant can influence. A transaction would hold one
 * of the few connections to PostgreSQL for all that time.
 * @throws ApiError 409 if the name does not become free in time
 */
export async function underLease<T>(
  { pool, lock }: { readonly pool: pg.Pool; readonly lock: ProcessLock },
  name: string,
  work: (commit: Commit) => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  const done = waiting.take(name)
  if (done === null) throw underWay()
  try {
    const endsAtMs = performance.now() + WAIT_MS
    while ((await takeLease(pool, name, holder, lock.number, LEASE_SECONDS)).length === 0) {
      if (performance.now() > endsAtMs) throw underWay()
      await delay(LOOK_MS)
    }
  } finally {
    done()
  }
  try {
    return await work((write) =>
      transaction(pool, async (client) => {
        const [held] = await holdLease(client, name, holder)
        if (held === undefined) throw underWay()
        return write(client)
      }),
    )
  } finally {
    await endLease(pool, name, holder)
  }
}

/**
 * Runs `work` and renews its lease meanwhile, so that the lease may be shorter than the work. A renewal that fails is
 * tried again after `everyMs`.
 */
export async function whileRenewing<T>(everyMs: number, renew: () => Promise<unknown>, work: () => Promise<T>) {
  const timer = setInterval(() => void renew().catch(() => undefined), everyMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

function underWay(): ApiError {
  return new ApiError('conflict', { detail: 'another request of this kind is under way' })
}
