/** For `JSON.stringify`. Neither NUL nor half a surrogate pair can be kept in PostgreSQL; one event that holds them must not stop all that follow. */
export function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value
}
