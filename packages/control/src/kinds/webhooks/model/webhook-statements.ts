import { statement } from '../../../platform/db/statement.ts'
import { DELIVERY_COLUMNS, type DeliveryRow, type WholeDeliveryRow } from './delivery-row.ts'
import { WEBHOOK_COLUMNS, type WebhookRow } from './webhook-row.ts'

/** Deliveries that one request sends again. */
const MAX_REDELIVERED = 10_000

export const countWebhooks = statement<{ count: number }, [workspaceId: string]>(
  'count-webhooks',
  'select count(*)::integer as count from webhooks where workspace_id = $1',
)

export const insertWebhook = statement<
  WebhookRow,
  [
    id: string,
    workspaceId: string,
    url: string,
    events: readonly string[],
    objects: readonly string[],
    description: string | null,
    secret: Buffer,
  ]
>(
  'insert-webhook',
  `insert into webhooks as w (id, workspace_id, url, events, objects, description, secret) values ($1, $2, $3, $4, $5, $6, $7)
   returning ${WEBHOOK_COLUMNS}`,
)

/** Finds a webhook by id and workspace: this is the tenant check. */
export const webhookOfWorkspace = statement<WebhookRow, [id: string, workspaceId: string]>(
  'webhook-of-workspace',
  `select ${WEBHOOK_COLUMNS} from webhooks w where w.id = $1 and w.workspace_id = $2`,
)

/** SQL that ends the waiting deliveries of the disabled ones among `changed`. */
export const END_OF_DISABLED = `update webhook_deliveries d set status = 'failed', due_at = null, finished_at = now(),
     error = coalesce(d.error || '; then ', '') || 'the webhook was disabled'
   from changed where d.webhook_id = changed.id and not changed.enabled and d.status = 'pending'`

/** Fields that are null keep their value. Enabling forgets earlier failures. */
export const patchWebhookRow = statement<
  WebhookRow,
  [
    id: string,
    url: string | null,
    events: readonly string[] | null,
    objects: readonly string[] | null,
    description: string | null,
    enabled: boolean | null,
  ]
>(
  'patch-webhook',
  `with changed as (
     update webhooks w set url = coalesce($2, w.url), events = coalesce($3, w.events), objects = coalesce($4, w.objects),
       description = coalesce($5, w.description), enabled = coalesce($6, w.enabled),
       disabled_reason = case when $6 then null when w.enabled and not $6 then 'user' else w.disabled_reason end,
       disabled_at = case when $6 then null when w.enabled and not $6 then now() else w.disabled_at end,
       failures = case when $6 and not w.enabled then 0 else w.failures end,
       failing_since = case when $6 and not w.enabled then null else w.failing_since end,
       quiet_until = case when $6 or w.url <> $2 then null else w.quiet_until end,
       updated_at = now()
     where w.id = $1 returning ${WEBHOOK_COLUMNS}
   ), ended as (${END_OF_DISABLED})
   select ${WEBHOOK_COLUMNS} from changed w`,
)

export const deleteWebhookRow = statement<never, [id: string]>('delete-webhook', 'delete from webhooks where id = $1')

/** The present secret stays valid for `overlapSeconds`. An older one ends. */
export const rotateWebhookSecret = statement<WebhookRow, [id: string, secret: Buffer, overlapSeconds: number]>(
  'rotate-webhook-secret',
  `update webhooks w set previous_secret = case when $3::int > 0 then w.secret end,
     previous_until = case when $3 > 0 then now() + make_interval(secs => $3) end, secret = $2, updated_at = now()
   where w.id = $1 returning ${WEBHOOK_COLUMNS}`,
)

/** The secrets that no longer sign are removed. */
export const forgetOldSecrets = statement<never, []>(
  'forget-old-webhook-secrets',
  'update webhooks set previous_secret = null, previous_until = null where previous_until < now()',
)

/** @param payload JSON */
export const insertDelivery = statement<DeliveryRow, [webhookId: string, type: string, payload: string]>(
  'insert-webhook-delivery',
  `insert into webhook_deliveries as d (webhook_id, type, payload, due_at, expires_at)
   values ($1, $2, $3::text::jsonb, now(), now() + interval '1 day') returning ${DELIVERY_COLUMNS}`,
)

export const deliveryOfWebhook = statement<WholeDeliveryRow, [id: string, webhookId: string]>(
  'delivery-of-webhook',
  `select ${DELIVERY_COLUMNS}, d.payload, d.log from webhook_deliveries d where d.id = $1 and d.webhook_id = $2`,
)

const AGAIN = `status = 'pending', due_at = now(), expires_at = now() + interval '1 day', tries = 0, finished_at = null`

/** Begins a delivery anew, whatever its result was. */
export const redeliver = statement<DeliveryRow, [id: string]>(
  'redeliver-webhook-delivery',
  `update webhook_deliveries d set ${AGAIN} where d.id = $1 returning ${DELIVERY_COLUMNS}`,
)

export const redeliverFailed = statement<{ count: number }, [webhookId: string, since: string]>(
  'redeliver-failed-webhook-deliveries',
  `with again as (
     update webhook_deliveries d set ${AGAIN} where d.id in (
       select f.id from webhook_deliveries f where f.webhook_id = $1 and f.created_at >= $2::text::timestamptz
         and f.status = 'failed' order by f.created_at limit ${MAX_REDELIVERED})
     returning d.id
   )
   select count(*)::integer as count from again`,
)
