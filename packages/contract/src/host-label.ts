import { z } from 'zod'

/** Maximum labels of one host, and maximum characters of each key, each value and each zone. */
export const MAX_HOST_LABELS = 32
const MAX_CHARS = 63

const KEY = /^[a-z0-9](?:[a-z0-9._/-]*[a-z0-9])?$/
const VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/
const KEY_RULE = 'must be lower-case letters, digits and . _ / - between them'
const VALUE_RULE = 'must be letters, digits and . _ / - between them'

const word = (name: string, pattern: RegExp, rule: string) =>
  z
    .string({ error: `${name} must be a string` })
    .max(MAX_CHARS, `${name} must be at most ${MAX_CHARS} characters`)
    .regex(pattern, `${name} ${rule}`)

/** Name of the group of machines that fail together, such as a rack or a data centre. */
export const hostZone = (name: string) => word(name, VALUE, VALUE_RULE)

/** What an operator says of a host: at most {@link MAX_HOST_LABELS} keys with a value. */
export const hostLabels = (name: string) =>
  z
    .record(z.string(), word(`${name} values`, VALUE, VALUE_RULE), { error: `${name} must be a string map` })
    .refine((map) => Object.keys(map).length <= MAX_HOST_LABELS, `${name} must have at most ${MAX_HOST_LABELS} entries`)
    .refine(
      (map) => Object.keys(map).every((key) => key.length <= MAX_CHARS),
      `${name} keys must be at most ${MAX_CHARS} characters`,
    )
    .refine((map) => Object.keys(map).every((key) => KEY.test(key)), `${name} keys ${KEY_RULE}`)

export type HostLabels = Readonly<Record<string, string>>

/** Each `KEY:VALUE`: separated by commas, in repeated parameters, or both; `undefined` when absent. */
export const queryLabels = (name: string) => {
  const refusal = `${name} must be KEY:VALUE, or several of them with commas`
  return z
    .union([z.string(), z.array(z.string())], { error: refusal })
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string' } })
    .transform((given) => [given].flat().flatMap((text) => text.split(',')))
    .refine((texts) => texts.every((text) => isLabel(...splitLabel(text))), refusal)
    .transform((texts) => texts.map((text): HostLabels => Object.fromEntries([splitLabel(text)])))
    .optional()
}

function splitLabel(text: string): [key: string, value: string] {
  const colon = text.indexOf(':')
  return colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
}

function isLabel(key: string, value: string): boolean {
  return KEY.test(key) && VALUE.test(value)
}
