/**
 * A replacer for `JSON.stringify`. PostgreSQL cannot store NUL or a lone surrogate, and one event that contains them
 * must not block all later events.
 */
export function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value
}
