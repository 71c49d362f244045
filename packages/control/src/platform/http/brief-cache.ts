/**
 * Reads something at most once in `ms`, however often it is asked for: those who ask meanwhile share one answer, also one that failed.
 * For routes without a credential, which nothing else keeps from asking PostgreSQL.
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
