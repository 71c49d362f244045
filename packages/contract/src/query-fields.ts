import { z } from 'zod'

/**
 * Query parameters, which arrive as text. Refusals are sentences that name the parameter, as in {@link
 * file://./fields.ts}. A repeated parameter arrives as an array, and is refused like any other wrong type.
 */

/** The parameter's type in `/openapi.json`, which shows the parsed value instead of the text. */
export const shownAsInteger = (min: number, max: number) => ({
  type: 'integer' as const,
  minimum: min,
  maximum: max,
  pattern: undefined,
})

const TRUE = ['1', 'true', 'yes'] as const
const FALSE = ['0', 'false', 'no'] as const

/** `1`, `true`, `yes` are true; `0`, `false`, `no` and absence are false. Other values are refused. */
export const queryFlag = (name: string) =>
  z
    .enum([...TRUE, ...FALSE], { error: `${name} must be one of ${[...TRUE, ...FALSE].join(', ')}` })
    .meta({ type: 'boolean', enum: undefined })
    .optional()
    .transform((text) => TRUE.some((word) => word === text))

/** The same words as {@link queryFlag}; `undefined` when absent. */
export const queryBoolean = (name: string) =>
  z
    .enum([...TRUE, ...FALSE], { error: `${name} must be one of ${[...TRUE, ...FALSE].join(', ')}` })
    .meta({ type: 'boolean', enum: undefined })
    .transform((text) => TRUE.some((word) => word === text))
    .optional()

/** One of these words; `undefined` when absent. */
export const queryOneOf = <const Words extends readonly string[]>(name: string, words: Words) =>
  z.enum(words, { error: `${name} must be one of ${words.join(', ')}` }).optional()

/** Some of these words: separated by commas, in repeated parameters, or both; `undefined` when absent. */
export const queryAnyOf = <const Words extends readonly string[]>(name: string, words: Words) => {
  const refusal = `${name} must be one of ${words.join(', ')}, or several of them with commas`
  return z
    .union([z.string(), z.array(z.string())], { error: refusal })
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...words] } })
    .transform((given) => [...new Set([given].flat().flatMap((text) => text.split(',')))])
    .pipe(z.array(z.enum(words, { error: refusal })))
    .optional()
}

/** Decimal digits; `undefined` when absent. */
export const queryInteger = (name: string, min: number, max: number) => {
  const refusal = `${name} must be an integer from ${min} to ${max}`
  return z
    .string({ error: refusal })
    .regex(/^[0-9]{1,15}$/, refusal)
    .meta(shownAsInteger(min, max))
    .transform(Number)
    .pipe(z.int().min(min, refusal).max(max, refusal))
    .optional()
}

/** RFC 3339, 5.6. An unescaped `+` in a query arrives as a space. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+ -]\d{2}:\d{2})$/i

/** Unix milliseconds; `null` if the text is no RFC 3339 timestamp. */
export function parseTimestamp(text: string): number | null {
  const ms = TIMESTAMP.test(text) ? Date.parse(text.replace(' ', '+').toUpperCase()) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}
