import { UsageError } from '../frame/failure.ts'

/** Control characters beside the letters. */
const OTHERS: Readonly<Record<string, number>> = { '[': 27, '\\': 28, ']': 29, '^': 30, _: 31 }

/** The byte that a terminal sends for a key such as `ctrl-]`; `null` for `none`. */
export function parseDetachKey(text: string): number | null {
  if (text === 'none') return null
  const key = /^ctrl-(.)$/.exec(text)?.[1] ?? ''
  if (/^[a-z]$/.test(key)) return key.charCodeAt(0) - 96
  const other = OTHERS[key]
  if (other === undefined)
    throw new UsageError(`--detach-key must be ctrl-a to ctrl-z, ctrl-], or none, and not "${text}"`)
  return other
}
