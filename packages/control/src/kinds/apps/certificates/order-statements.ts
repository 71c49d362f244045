import { hasNoCreator } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'

/** Orders that one workspace may start in an hour. */
export const MAX_ORDERS_PER_HOUR = 20
/** Days for which an order is stored. */
const COUNTED_DAYS = 1
/** Failed orders of a first certificate before control stops trying, until the owner asks again. */
const MAX_FAILURES = 12
/** Minutes until the next order after a failed one: doubled with each failure, from the first value up to the last. */
const RETRY_MINUTES = { first: 5, last: 24 * 60 } as const
/** The remaining share of its lifetime at which a certificate is renewed. */
const RENEWED_BEFORE = 1 / 3

/** An order to start or continue. */
export interface OrderRow {
  readonly id: string
  readonly domain: string
  /** `null`: the order is for the API's own name, not for a domain of an app. */
  readonly workspace_id: string | null
  readonly order_url: string | null
  readonly order_key: Buffer | null
}

/** Inserts an order for verified domains without a certificate. */
export const wantCertificates = statement<never, [limit: number]>(
  'want-certificates',
  `insert into app_certificates (app_id, domain, source, due_at)
   select d.app_id, d.domain, 'acme', now() from app_domains d join apps a on a.id = d.app_id
   where d.verified_at is not null and a.deletion_due_at is null
     and not exists (select from app_certificates c where c.app_id = d.app_id and c.domain = d.domain)
   limit $1 on conflict do nothing`,
)

/** Due orders, and those of processes that have ended; only for domains that are verified for the app. */
const DUE = `app_certificates c join app_domains d using (app_id, domain) join apps a on a.id = c.app_id
  where c.source = 'acme' and c.due_at <= now() and (c.creator is null or ${hasNoCreator('c')})
    and d.verified_at is not null and a.deletion_due_at is null`

export const dueOrderIds = statement<{ id: string }, [limit: number]>(
  'due-certificate-order-ids',
  `select c.id from ${DUE} order by c.due_at limit $1`,
)

/** Gives due orders a job that have none, because their domain was not verified when it ran. */
export const remindOrders = statement<never, []>(
  'remind-certificate-orders',
  `update app_certificates set due_at = now() where id in (select c.id from ${DUE}
     and not exists (select from graphile_worker.jobs j where j.key = 'order-certificate:' || c.id))`,
)

/** Claims a due order for this process. No row: it is not due, or another process works on it. */
export const claimOrder = statement<OrderRow, [id: string, creator: number]>(
  'claim-certificate-order',
  `with due as materialized (
     select c.id as due_id, a.workspace_id from ${DUE} and c.id = $1 for update of c skip locked
   )
   update app_certificates c set creator = $2, tried_at = now() from due where c.id = due_id
   returning c.id, c.domain, due.workspace_id, c.order_url, c.order_key`,
)

const MINE = `id = $1 and creator = $2 and source = 'acme'`

/**
 * Call it after {@link lockAccount}, in the same transaction. No row: the workspace has reached
 * {@link MAX_ORDERS_PER_HOUR}.
 */
export const countOrder = statement<{ workspace_id: string }, [workspaceId: string]>(
  'count-certificate-order',
  `with old as (delete from certificate_orders where created_at < now() - interval '${COUNTED_DAYS} days')
   insert into certificate_orders (workspace_id) select $1
   where (select count(*) from certificate_orders where workspace_id = $1 and created_at > now() - interval '1 hour')
     < ${MAX_ORDERS_PER_HOUR}
   returning workspace_id`,
)

/** Call it before the order is created. */
export const setOrderKey = statement<{ id: string }, [id: string, creator: number, key: Buffer]>(
  'set-certificate-order-key',
  `update app_certificates set order_key = $3, order_url = null where ${MINE} returning id`,
)

export const setOrder = statement<{ id: string }, [id: string, creator: number, url: string]>(
  'set-certificate-order',
  `update app_certificates set order_url = $3 where ${MINE} returning id`,
)

export const setChallenge = statement<{ id: string }, [id: string, creator: number, token: string, answer: string]>(
  'set-certificate-challenge',
  `update app_certificates set challenge_token = $3, challenge_answer = $4 where ${MINE} returning id`,
)

/** Replaces the old certificate by the new one in one statement. */
export const setCertificate = statement<
  { id: string },
  [id: string, creator: number, chain: string, key: Buffer, fingerprint: string, notBefore: Date, endsAt: Date]
>(
  'set-certificate',
  `update app_certificates set chain = $3, key = $4, fingerprint = $5, ends_at = $7, order_url = null, order_key = null,
     challenge_token = null, challenge_answer = null, failures = 0, error = null, creator = null,
     due_at = $7::timestamptz - ($7::timestamptz - $6::timestamptz) * ${RENEWED_BEFORE}::float8
   where ${MINE} returning id`,
)

/**
 * Stores a failure. The served certificate does not change. Control never stops trying for its own name.
 * @param keepsOrder the order may still succeed, so the next attempt continues it
 */
export const failOrder = statement<never, [id: string, creator: number, error: string, keepsOrder: boolean]>(
  'fail-certificate-order',
  `update app_certificates set error = $3, failures = failures + 1, creator = null,
     order_url = case when $4 then order_url end, order_key = case when $4 then order_key end,
     challenge_token = null, challenge_answer = null,
     due_at = case when fingerprint is not null or app_id is null or failures + 1 < ${MAX_FAILURES} then now() + least(
       interval '${RETRY_MINUTES.last} minutes', interval '${RETRY_MINUTES.first} minutes' * power(2, least(failures, 16))) end
   where ${MINE}`,
)

/** Releases the claim when the process stops, so that another process continues. */
export const leaveOrder = statement<never, [id: string, creator: number]>(
  'leave-certificate-order',
  `update app_certificates set creator = null where ${MINE}`,
)

/** The first process to insert the key wins. */
export const keepAccountKey = statement<never, [directoryUrl: string, key: Buffer]>(
  'keep-acme-account-key',
  'insert into acme_accounts (directory_url, key) values ($1, $2) on conflict (directory_url) do nothing',
)

export const accountKey = statement<{ readonly key: Buffer }, [directoryUrl: string]>(
  'acme-account-key',
  'select key from acme_accounts where directory_url = $1',
)
