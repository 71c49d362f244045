import { z } from 'zod'
import { optional } from './fields.ts'
import { queryOneOf } from './query-fields.ts'

const ENCODINGS = ['utf8', 'base64'] as const

/**
 * How texts in JSON hold the bytes of a command's input and output. `utf8`: as text; invalid bytes of output become
 * U+FFFD. `base64`: exactly.
 */
export type Encoding = (typeof ENCODINGS)[number]

/** Default: `utf8`. */
export const encoding = optional(z.enum(ENCODINGS, { error: 'encoding must be "utf8" or "base64"' }))
export const queryEncoding = queryOneOf('encoding', ENCODINGS)

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Whether `text` is valid in its encoding. */
export function isEncoded(text: string, as: Encoding | undefined): boolean {
  return as !== 'base64' || BASE64.test(text)
}
