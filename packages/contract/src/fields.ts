import { z } from 'zod'

/**
 * Field schemas whose refusals are whole sentences that name the field: they go out as the `error` of a 400.
 * A `null` in an optional field counts as absent, because many clients send every parameter they have.
 */

function refusal(name: string, expected: string) {
  return (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? `${name} required` : `${name} must be ${expected}`
}

/** A string that must be there and not be empty; missing and empty answer `<name> required`. */
export const requiredText = (name: string, maxChars: number) =>
  z
    .string({ error: refusal(name, 'a string') })
    .min(1, `${name} required`)
    .max(maxChars, `${name} must be at most ${maxChars} characters`)

export const text = (name: string, maxChars: number) =>
  z.string({ error: refusal(name, 'a string') }).max(maxChars, `${name} must be at most ${maxChars} characters`)

export const flag = (name: string) => z.boolean({ error: refusal(name, 'a boolean') })

export const integer = (name: string, min: number, max: number) =>
  z
    .int({ error: refusal(name, 'an integer') })
    .min(min, `${name} must be >= ${min}`)
    .max(max, `${name} must be <= ${max}`)

/** Outside of the BMP, a character is two units of a JavaScript string; people count it as one. */
const STORED_AS_TWO = /[\u{10000}-\u{10ffff}]/gu

const hasAtMost = (chars: number, value: string) =>
  value.length <= chars || value.length - (value.match(STORED_AS_TWO)?.length ?? 0) <= chars

export interface StringMapLimits {
  readonly entries: number
  readonly keyChars: number
  readonly valueChars: number
}

/** A JSON object of strings; anything else answers `<name> must be a string map`. */
export const stringMap = (name: string, limits: StringMapLimits) =>
  z
    .record(z.string(), z.string({ error: `${name} must be a string map` }), { error: `${name} must be a string map` })
    .refine((map) => Object.keys(map).length <= limits.entries, `${name} must have at most ${limits.entries} entries`)
    .refine(
      (map) => Object.keys(map).every((key) => hasAtMost(limits.keyChars, key)),
      `${name} keys must be at most ${limits.keyChars} characters`,
    )
    .refine(
      (map) => Object.values(map).every((value) => hasAtMost(limits.valueChars, value)),
      `${name} values must be at most ${limits.valueChars} characters`,
    )

/** May be missing or `null`; both read as `undefined`. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined)
}
