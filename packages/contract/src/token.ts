import { z } from 'zod'
import { integer, oneRequired, optional, text } from './fields.ts'
import { scope } from './scope.ts'
import { createdQuery, once } from './page.ts'
import { queryBoolean } from './query-fields.ts'

/** Ten years. */
const MAX_EXPIRY_DAYS = 3650
/** Maximum valid keys per workspace. */
export const MAX_TOKENS = 1000
const MAX_NAME_CHARS = 100

/** Body of `POST /v1/me/tokens`. */
export const createTokenBody = z
  .object({
    /** Purpose of the key. `label` is an alias. */
    name: optional(text('name', MAX_NAME_CHARS)),
    label: optional(text('label', MAX_NAME_CHARS)),
    /** 1 to 3650 days. Default: the key never expires. */
    expires_in_days: optional(integer('expires_in_days', 1, MAX_EXPIRY_DAYS)),
    /** Default: no restriction. */
    scopes: optional(
      z
        .array(scope, { error: 'scopes must be an array' })
        .min(1, 'scopes must not be empty')
        .max(32, 'scopes must have at most 32 entries'),
    ),
  })
  .meta(oneRequired('name', 'label'))
  .transform(({ name, label, ...rest }) => ({ ...rest, name: name || label || '' }))
  .refine(({ name }) => name.trim() !== '', 'name is required')
  .refine(
    ({ name }) => !name.includes('\0') && name.isWellFormed(),
    'name must not contain NUL or half a surrogate pair',
  )
export type CreateTokenBody = z.output<typeof createTokenBody>

/** An API key without its secret. */
export const token = z.object({
  /** `ofs_` and 8 characters. Identifies the key, also to revoke it. */
  prefix: z.string(),
  name: z.string(),
  /** Equal to `name`. */
  label: z.string(),
  /** `null`: no restriction. */
  scopes: z.array(scope).nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `null`: never. */
  expires_at: z.string().nullable(),
  /** Accurate to the minute; `null` before the first use. */
  last_used_at: z.string().nullable(),
  /** Id of the creating user; `null` if the account was deleted. */
  created_by: z.string().nullable(),
})
export type Token = z.infer<typeof token>

/** Answer of `POST /v1/me/tokens`, the only one that contains the secret. */
export const createdToken = token.extend({ token: z.string() })
export type CreatedToken = z.infer<typeof createdToken>

/** Query of `GET /v1/me/tokens`. */
export const tokenListQuery = createdQuery.extend({
  name: once('name').optional(),
  /** Id of a user. */
  created_by: once('created_by').optional(),
  /** Whether the key has expired. */
  expired: queryBoolean('expired'),
})
