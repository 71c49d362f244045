/**
 * Caches a value, or a failure, for `ms`. Concurrent callers share one read. It protects PostgreSQL from routes that
 * need no credential.
 */
export function briefCache<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly value: Promise<T>; freshUntilMs: number } | undefined
  return () => {
    if (latest !== undefined && performance.now() < latest.freshUntilMs) return latest.value
    const reading = { value: read(), freshUntilMs: Number.POSITIVE_INFINITY }
    const settle = () => (reading.freshUntilMs = performance.now() + ms)
    reading.value.then(settle, settle)
    latest = reading
    return reading.value
  }
}
