import type { WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { statement } from '../db/statement.ts'
import type { Asked, Lease, Rate, TokenBuckets } from './token-buckets.ts'

/**
 * Takes up to `want` tokens from a workspace's bucket and returns the `unused` tokens of an earlier lease, in one
 * statement. However many processes ask at once, together they get no more than the bucket has. The bucket refills with
 * time, up to its burst. An operator's rate for the workspace overrides the configured one.
 */
export const leaseTokens = statement<
  { granted: number; burst: number; per_second: number },
  [workspaceId: string, want: number, unused: number, burst: number, perSecond: number]
>(
  'lease-tokens',
  `with rate as materialized (
     select coalesce(a.rate_burst, $4::int) as burst, coalesce(a.rate_per_second, $5::int) as per_second
     from (select $1::uuid as id) w left join workspace_accounts a on a.workspace_id = w.id
   ), leased as (
     insert into rate_buckets as b (workspace_id, tokens, granted, refilled_at)
     select $1, burst - least(burst, $2::int), least(burst, $2::int), clock_timestamp() from rate
     on conflict (workspace_id) do update set (tokens, granted, refilled_at) = (
       select available - least(floor(available), $2::int), least(floor(available), $2::int), now.at
       from rate, (select clock_timestamp() as at) now,
         lateral (select least(burst, b.tokens + $3::int
           + greatest(0, extract(epoch from now.at - b.refilled_at)) * per_second) as available) filled
     )
     returning b.granted
   )
   select granted, burst, per_second from leased, rate`,
)

/** Token buckets in PostgreSQL, one row each. */
export class PostgresBuckets implements TokenBuckets {
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async lease(workspaceId: WorkspaceId, { want, unused }: Asked, { burst, perSecond }: Rate): Promise<Lease> {
    const [lease] = await leaseTokens(this.#pool, workspaceId, want, unused, burst, perSecond)
    if (lease === undefined) throw new Error('a lease gave no row')
    return { granted: lease.granted, burst: lease.burst, perSecond: lease.per_second }
  }
}
