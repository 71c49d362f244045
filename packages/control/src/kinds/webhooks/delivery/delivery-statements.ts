import { hasNoCreator } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'
import { END_OF_DISABLED } from '../model/webhook-statements.ts'

/** Deliveries that may wait for one webhook. Beyond it, the webhook is disabled. */
export const MAX_WAITING = 10_000
/** Attempts that the log of a delivery keeps. */
const KEPT_ATTEMPTS = 30
/** Days for which finished deliveries are kept. */
const KEPT_DAYS = 30
/** Failed attempts in a row after which a webhook gets no attempts for a while. */
const QUIET_AFTER = 5
/** Maximum seconds of that while. */
const MAX_QUIET_SECONDS = 300
/** Hours of failures after which a webhook is disabled. Below the day for which a delivery is tried. */
const DISABLED_AFTER_HOURS = 23

/** What a process needs in order to send. */
export interface LeasedWebhook {
  readonly workspace_id: string
  readonly url: string
  readonly secret: Buffer
  readonly previous_secret: Buffer | null
}

const IS_HELD = `(w.holder is not null and w.held_until > now() and not ${hasNoCreator('w')})`

/** Makes this process the one that delivers for a webhook. No row: another is, or the webhook gets no attempts now. */
export const leaseWebhook = statement<{ id: string }, [id: string, holder: string, creator: number, seconds: number]>(
  'lease-webhook',
  `update webhooks w set holder = $2, creator = $3, held_until = now() + make_interval(secs => $4)
   where w.id = $1 and w.enabled and (w.quiet_until is null or w.quiet_until <= now()) and not ${IS_HELD} returning w.id`,
)

/** Whether a living process delivers for the webhook. No row: the webhook is gone. */
export const webhookState = statement<{ workspace_id: string; is_held: boolean }, [id: string]>(
  'webhook-state',
  `select w.workspace_id, ${IS_HELD} as is_held from webhooks w where w.id = $1`,
)

/** No row: the lease was lost, or the webhook gets no further attempts now. */
export const leasedWebhook = statement<LeasedWebhook, [id: string, holder: string]>(
  'leased-webhook',
  `select workspace_id, url, secret, case when previous_until > now() then previous_secret end as previous_secret
   from webhooks where id = $1 and holder = $2 and held_until > now() and enabled
     and (quiet_until is null or quiet_until <= now())`,
)

export const endLeaseOfWebhook = statement<never, [id: string, holder: string]>(
  'end-lease-of-webhook',
  'update webhooks set holder = null, held_until = null where id = $1 and holder = $2',
)

export interface DueDelivery {
  readonly id: string
  readonly payload: Record<string, unknown>
  readonly tries: number
  readonly expires_at: Date
}

/** The longest due first. @param without deliveries that are under way */
export const dueDeliveries = statement<DueDelivery, [webhookId: string, without: readonly string[], limit: number]>(
  'due-webhook-deliveries',
  `select id, payload, tries, expires_at from webhook_deliveries
   where webhook_id = $1 and due_at <= now() and id <> all($2::uuid[]) order by due_at, created_at limit $3`,
)

/**
 * Adds the job that makes the next attempts, in `afterMs` at the earliest; an earlier one stays. Nothing if no delivery
 * waits.
 */
export const scheduleDelivery = statement<never, [webhookId: string, afterMs: number]>(
  'schedule-webhook-delivery',
  `select from (
     select w.id, greatest(w.quiet_until, now() + make_interval(secs => $2::float8 / 1000),
       (select min(d.due_at) from webhook_deliveries d where d.webhook_id = w.id and d.due_at is not null)) as at
     from webhooks w where w.id = $1 and w.enabled
       and exists (select from webhook_deliveries d where d.webhook_id = w.id and d.due_at is not null)
   ) next cross join lateral graphile_worker.add_job('deliver-webhook', json_build_object('id', next.id),
     job_key := 'deliver-webhook:' || next.id, run_at := least(next.at, (select j.run_at from graphile_worker.jobs j
       where j.key = 'deliver-webhook:' || next.id and j.locked_at is null)))`,
)

/** Stores an attempt. @param attempt JSON @param retryAfterMs `null`: there is no further attempt */
export const recordAttempt = statement<
  { id: string },
  [
    id: string,
    attempt: string,
    responseStatus: number | null,
    durationMs: number,
    error: string | null,
    retryAfterMs: number | null,
  ]
>(
  'record-webhook-attempt',
  `update webhook_deliveries d set attempts = d.attempts + 1, tries = d.tries + 1,
     log = (case when jsonb_array_length(d.log) >= ${KEPT_ATTEMPTS} then d.log - 0 else d.log end) || $2::text::jsonb,
     response_status = $3, duration_ms = $4, error = $5::text,
     status = case when $5::text is null then 'delivered' when $6::float8 is null then 'failed' else 'pending' end,
     due_at = case when $5::text is not null then now() + make_interval(secs => $6::float8 / 1000) end,
     finished_at = case when $5::text is null or $6::float8 is null then now() end
   where d.id = $1 and d.status = 'pending' returning d.id`,
)

export const noteSuccess = statement<never, [webhookId: string]>(
  'note-webhook-success',
  `update webhooks set failures = 0, failing_since = null, quiet_until = null where id = $1 and failures > 0`,
)

/** A webhook that had no failure before has no such time. */
const HAS_FAILED_LONG = `coalesce(w.failing_since < now() - interval '${DISABLED_AFTER_HOURS} hours', false)`

/** Counts a failed attempt; disables a webhook that is gone, or has failed for a day. */
export const noteFailure = statement<{ enabled: boolean }, [webhookId: string, isGone: boolean]>(
  'note-webhook-failure',
  `with changed as (
     update webhooks w set failures = w.failures + 1, failing_since = coalesce(w.failing_since, now()),
       quiet_until = case when w.failures + 1 >= ${QUIET_AFTER} then now() + make_interval(
         secs => least(${MAX_QUIET_SECONDS}, 2 ^ least(w.failures + 1 - ${QUIET_AFTER}, 20)) * (0.8 + 0.4 * random())) end,
       enabled = not ($2 or ${HAS_FAILED_LONG}),
       disabled_reason = case when $2 then 'gone'
         when ${HAS_FAILED_LONG} then 'failing' end,
       disabled_at = case when $2 or ${HAS_FAILED_LONG} then now() end
     where w.id = $1 and w.enabled returning w.id, w.enabled
   ), ended as (${END_OF_DISABLED})
   select enabled from changed`,
)

/** Webhooks with due deliveries that no process sends. */
export const dueWebhooks = statement<{ id: string }, [limit: number]>(
  'due-webhooks',
  `select w.id from webhooks w where w.enabled and (w.quiet_until is null or w.quiet_until <= now()) and not ${IS_HELD}
     and exists (select from webhook_deliveries d where d.webhook_id = w.id and d.due_at <= now()) limit $1`,
)

/** Disables webhooks for which too many deliveries wait. */
export const disableOverfull = statement<never, []>(
  'disable-overfull-webhooks',
  `with changed as (
     update webhooks w set enabled = false, disabled_reason = 'backlog', disabled_at = now()
     where w.enabled and (select count(*) from (select from webhook_deliveries d
       where d.webhook_id = w.id and d.due_at is not null limit ${MAX_WAITING + 1}) waiting) > ${MAX_WAITING}
     returning w.id, w.enabled
   )
   ${END_OF_DISABLED}`,
)

/** An event that was added while its webhook was disabled. */
export const endOfDisabled = statement<never, []>(
  'end-deliveries-of-disabled-webhooks',
  `with changed as (select id, enabled from webhooks where not enabled) ${END_OF_DISABLED}`,
)

export const removeOldDeliveries = statement<never, []>(
  'remove-old-webhook-deliveries',
  `delete from webhook_deliveries where finished_at < now() - interval '${KEPT_DAYS} days'`,
)
