import { UsageError } from './failure.ts'

/*
 * Parsers of option values. Each throws a `UsageError` whose sentence says what is right.
 */

/** A whole number between two limits, both included. */
export function integer(name: string, least: number, most: number) {
  return (text: string): number => {
    const number = Number(text)
    if (!/^-?\d{1,15}$/.test(text) || number < least || number > most)
      throw new UsageError(`${name} must be a whole number from ${least} to ${most}, and not "${text}"`)
    return number
  }
}

/** One of a few words. */
export function oneOf(name: string, words: readonly string[]) {
  return (text: string): string => {
    if (!words.includes(text)) throw new UsageError(`${name} must be one of ${words.join(', ')}, and not "${text}"`)
    return text
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** A duration such as `90`, `90s`, `15m`, `2h`, `7d`; in seconds. */
export function duration(name: string) {
  return (text: string): number => {
    const [, count, unit = 's'] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? []
    const seconds = Number(count) * (UNITS[unit === '' ? 's' : unit] ?? 1)
    if (count === undefined || seconds < 1)
      throw new UsageError(`${name} must be a duration such as 90s, 15m, 2h or 7d`)
    return seconds
  }
}

/** A size such as `512`, `512m` or `2g`, in MiB. */
export function mebibytes(name: string) {
  return (text: string): number => {
    const [, count, unit = ''] = /^(\d{1,9})([mg]?)$/i.exec(text) ?? []
    const size = Number(count) * (unit.toLowerCase() === 'g' ? 1024 : 1)
    if (count === undefined || size < 1) throw new UsageError(`${name} must be a size in MiB such as 512, 512m or 2g`)
    return size
  }
}

/** A moment: RFC 3339 with a time zone, or how long ago it was, such as `15m`. Returns RFC 3339. */
export function moment(name: string, text: string): string {
  if (/^\d{1,9}[smhd]$/.test(text)) return new Date(Date.now() - duration(name)(text) * 1000).toISOString()
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/i.test(text) || Number.isNaN(Date.parse(text)))
    throw new UsageError(`${name} must be a time such as 2026-01-31T12:00:00Z, or how long ago it was, such as 15m`)
  return text
}

/** Repeated `KEY=VALUE`, collected in an object. The value may be empty and may contain `=`. */
export function keyValues(name: string) {
  return (text: string, previous: unknown): Record<string, string> => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`${name} must have the form KEY=VALUE, and not "${text}"`)
    return { ...(previous as Record<string, string> | undefined), [text.slice(0, at)]: text.slice(at + 1) }
  }
}

/** A repeated option, collected in an array. */
export function several(text: string, previous: unknown): string[] {
  return [...((previous as string[] | undefined) ?? []), text]
}

/** A TCP port. */
export function parsePort(text: string): number {
  return integer('port', 1, 65_535)(text)
}
