import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { scope } from './scope.ts'

/** Ten years. */
const MAX_EXPIRY_DAYS = 3650
/** Live keys of a workspace. */
export const MAX_TOKENS = 1000
const MAX_NAME_CHARS = 100

/** Body of `POST /v1/me/tokens`. */
export const createTokenBody = z
  .object({
    /** What it is for; `label` is another name of the field. */
    name: optional(text('name', MAX_NAME_CHARS)),
    label: optional(text('label', MAX_NAME_CHARS)),
    /** 1 to 3650; it never expires without. */
    expires_in_days: optional(integer('expires_in_days', 1, MAX_EXPIRY_DAYS)),
    /** What it may be used for; everything without. */
    scopes: optional(
      z
        .array(scope, { error: 'scopes must be an array' })
        .min(1, 'scopes must not be empty')
        .max(32, 'scopes must have at most 32 entries'),
    ),
  })
  .transform(({ name, label, ...rest }) => ({ ...rest, name: name || label || '' }))
  .refine(({ name }) => name.trim() !== '', 'name is required')
  .refine(
    ({ name }) => !name.includes('\0') && name.isWellFormed(),
    'name must not contain NUL or half a surrogate pair',
  )
export type CreateTokenBody = z.output<typeof createTokenBody>

/** An API key as a list shows it: everything but its secret. */
export const token = z.object({
  /** `ofs_` and 8 characters: names the key, and revokes it. */
  prefix: z.string(),
  name: z.string(),
  /** The same as `name`. */
  label: z.string(),
  /** `null`: all. */
  scopes: z.array(scope).nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `null`: never. */
  expires_at: z.string().nullable(),
  /** True to the minute; `null` until the first use. */
  last_used_at: z.string().nullable(),
  /** Id of the user who made it; `null` when that account is gone. */
  created_by: z.string().nullable(),
})
export type Token = z.infer<typeof token>

/** Answer of `POST /v1/me/tokens`: the only one with the secret. */
export const createdToken = token.extend({ token: z.string() })
export type CreatedToken = z.infer<typeof createdToken>
