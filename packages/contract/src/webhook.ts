import { z } from 'zod'
import { flag, integer, isStorable, optional, requiredText, text } from './fields.ts'
import { createdQuery, once } from './page.ts'
import { parseTimestamp, queryOneOf } from './query-fields.ts'
import { eventPatterns } from './workspace-event.ts'

const MAX_URL_CHARS = 2_048
const MAX_PATTERNS = 50
const MAX_OBJECTS = 50
const MAX_OBJECT_CHARS = 64
/** Seconds for which both signatures are sent after a rotation: 0 to 7 days, default a day. */
const MAX_OVERLAP_SECONDS = 7 * 24 * 3600
export const DEFAULT_OVERLAP_SECONDS = 24 * 3600

const url = requiredText('url', MAX_URL_CHARS)
  .refine((value) => isHttpUrl(value), 'url must be an http or https address')
  .refine((value) => isStorable(value), 'url must be an http or https address')
  .refine((value) => !hasCredentials(value), 'url must not contain a user name or a password')

const events = z
  .array(z.string({ error: 'events must be strings' }), {
    error: ({ input }) => (input === undefined || input === null ? 'events required' : 'events must be an array'),
  })
  .min(1, 'events must not be empty')
  .max(MAX_PATTERNS, `events must be at most ${MAX_PATTERNS}`)
  .refine(
    (names) => names.every((name) => eventPatterns.includes(name)),
    `events must be among ${eventPatterns.join(', ')}`,
  )

const objects = z
  .array(
    text('objects', MAX_OBJECT_CHARS)
      .min(1, 'objects must not be empty')
      .refine(isStorable, 'objects must be ids or names'),
    { error: 'objects must be an array of ids and names' },
  )
  .max(MAX_OBJECTS, `objects must be at most ${MAX_OBJECTS}`)

const description = text('description', 256).refine(isStorable, 'description must be text')

/** Body of `POST /v1/webhooks`. */
export const createWebhookBody = z.object({
  /** `http` or `https`, without credentials. Control sends to public addresses only. */
  url,
  /** Types of events, groups such as `deploy.*`, or `*`. Default: all. */
  events: optional(events),
  /** Only events that refer to one of these ids or names: sandboxes, apps, databases, templates. Default: all. */
  objects: optional(objects),
  description: optional(description),
})
export type CreateWebhookBody = z.infer<typeof createWebhookBody>

/** Body of `PATCH /v1/webhooks/{id}`. */
export const patchWebhookBody = z.object({
  url: optional(url),
  events: optional(events),
  objects: optional(objects),
  description: optional(description),
  /** False: nothing is sent, and waiting deliveries end. True: begins anew with the next event. */
  enabled: optional(flag('enabled')),
})
export type WebhookPatch = z.infer<typeof patchWebhookBody>

/** Body of `POST /v1/webhooks/{id}/rotate-secret`. */
export const rotateSecretBody = z.object({
  /** Seconds for which both secrets sign, 0 to 604800; default 86400. */
  overlap_seconds: optional(integer('overlap_seconds', 0, MAX_OVERLAP_SECONDS)),
})

const SINCE_REFUSED = 'since must be an RFC 3339 timestamp'
/** Body of `POST /v1/webhooks/{id}/redeliver`. */
export const redeliverBody = z.object({
  /** RFC 3339. Failed deliveries that were made at or after this time. */
  since: z
    .string({ error: ({ input }) => (input === undefined || input === null ? 'since required' : SINCE_REFUSED) })
    .refine((value) => parseTimestamp(value) !== null && /^(?!0000)/.test(value), SINCE_REFUSED)
    .transform((value) => new Date(parseTimestamp(value) ?? 0).toISOString()),
})

/**
 * Why a webhook is disabled. `user`: by a PATCH. `gone`: it answered 410. `failing`: every attempt of a day failed.
 * `backlog`: too many deliveries waited.
 */
export const webhookDisabledReason = z.enum(['user', 'gone', 'failing', 'backlog'])

/** A webhook: an address to which control sends the events of a workspace. */
export const webhook = z.object({
  /** UUID. */
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  objects: z.array(z.string()),
  description: z.string().nullable(),
  enabled: z.boolean(),
  disabled_reason: webhookDisabledReason.nullable(),
  disabled_at: z.string().nullable(),
  /** RFC 3339: since when every attempt has failed; `null`: the last one succeeded, or there was none. */
  failing_since: z.string().nullable(),
  /** RFC 3339: until when the previous signature is sent, too. */
  overlap_until: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  updated_at: z.string(),
})
export type Webhook = z.infer<typeof webhook>

/** Answer of `POST /v1/webhooks` and of `POST /v1/webhooks/{id}/rotate-secret`. */
export const webhookWithSecret = webhook.extend({
  /** `whsec_…`: the key of the signatures, shown only here. */
  secret: z.string(),
})

export const webhookDeliveryStatus = z.enum(['pending', 'delivered', 'failed'])

/** A message to a webhook. */
export const webhookDelivery = z.object({
  /** UUID. The header `webhook-id` is `msg_` and this id, the same for all attempts. */
  id: z.string(),
  webhook_id: z.string(),
  /** Type of the event, or `webhook.test`. */
  type: z.string(),
  /** `pending`: it waits for its first or next attempt. */
  status: webhookDeliveryStatus,
  attempts: z.int(),
  /** Status of the last answer; `null`: there was none. */
  response_status: z.int().nullable(),
  /** Milliseconds of the last attempt. */
  duration_ms: z.int().nullable(),
  /** Why the last attempt failed. */
  error: z.string().nullable(),
  /** RFC 3339: when it is tried next; `null` unless `pending`. */
  next_attempt_at: z.string().nullable(),
  created_at: z.string(),
  finished_at: z.string().nullable(),
})
export type WebhookDelivery = z.infer<typeof webhookDelivery>

/** One attempt of a delivery. */
export const webhookAttempt = z.object({
  /** RFC 3339: its begin. */
  at: z.string(),
  response_status: z.int().nullable(),
  duration_ms: z.int(),
  error: z.string().nullable(),
  /** The first 1024 bytes of the answer. */
  response: z.string().nullable(),
})
export type WebhookAttempt = z.infer<typeof webhookAttempt>

/** Answer of `GET /v1/webhooks/{id}/deliveries/{delivery_id}`. */
export const webhookDeliveryDetails = webhookDelivery.extend({
  /** The body that is sent. */
  payload: z.record(z.string(), z.unknown()),
  /** The last 30 attempts, oldest first. */
  log: z.array(webhookAttempt),
})

/** Answer of `POST /v1/webhooks/{id}/redeliver`. */
export const redelivered = z.object({
  /** Deliveries that are sent again: at most 10,000, the oldest first. */
  count: z.int(),
})

/** Query of `GET /v1/webhooks`. */
export const webhookListQuery = createdQuery.extend({ enabled: queryOneOf('enabled', ['true', 'false']) })

/** Query of `GET /v1/webhooks/{id}/deliveries`. */
export const webhookDeliveryListQuery = createdQuery.extend({
  status: queryOneOf('status', webhookDeliveryStatus.options),
  type: once('type').optional(),
})

function isHttpUrl(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value) && new URL(value).hostname !== ''
}

function hasCredentials(value: string): boolean {
  // zod runs all checks of a value.
  if (!URL.canParse(value)) return false
  const { username, password } = new URL(value)
  return username !== '' || password !== ''
}
