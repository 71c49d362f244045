import { z } from 'zod'

/**
 * Field schemas. Each refusal is a sentence that names the field, and becomes the `error` of a 400. A `null` in an
 * optional field counts as absent, because many clients send all of their parameters.
 */

function refusal(name: string, expected: string) {
  return (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? `${name} required` : `${name} must be ${expected}`
}

/** A required, non-empty string. If missing or empty: `<name> required`. */
export const requiredText = (name: string, maxChars: number) =>
  z
    .string({ error: refusal(name, 'a string') })
    .min(1, `${name} required`)
    .max(maxChars, `${name} must be at most ${maxChars} characters`)

/** A string, which may be empty. Otherwise: `<name> required` or `<name> must be a string`. */
export const text = (name: string, maxChars: number) =>
  z.string({ error: refusal(name, 'a string') }).max(maxChars, `${name} must be at most ${maxChars} characters`)

/** PostgreSQL can hold neither NUL nor half a surrogate pair. */
export const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()

export const flag = (name: string) => z.boolean({ error: refusal(name, 'a boolean') })

/** An integer from `min` to `max`. Otherwise, a sentence that names the violated bound. */
export const integer = (name: string, min: number, max: number) =>
  z
    .int({ error: refusal(name, 'an integer') })
    .min(min, `${name} must be >= ${min}`)
    .max(max, `${name} must be <= ${max}`)

/** Characters outside of the BMP take two units in a JavaScript string, but count as one towards the limit. */
const STORED_AS_TWO = /[\u{10000}-\u{10ffff}]/gu

const hasAtMost = (chars: number, value: string) =>
  value.length <= chars || value.length - (value.match(STORED_AS_TWO)?.length ?? 0) <= chars

/** Maximum number of entries, and maximum characters of each key and value. */
export interface StringMapLimits {
  readonly entries: number
  readonly keyChars: number
  readonly valueChars: number
}

/** A JSON object with string values. Otherwise: `<name> must be a string map`. */
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

/** For `meta` of an object: the API's description says that one of these fields must be there. A check enforces it. */
export const oneRequired = (...names: readonly string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) })

/** The same for two fields of which each needs the other. */
export const requiredTogether = (one: string, other: string) => ({
  dependentRequired: { [one]: [other], [other]: [one] },
})

/** Accepts a missing field and `null`; both become `undefined`. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined)
}
