/** Statuses that another attempt may not get: a limit, a restart, no capacity. */
const TRANSIENT: ReadonlySet<number> = /* @__PURE__ */ new Set([429, 500, 502, 503, 507])
const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 8_000
/** A server that asks for more patience than this gets the error instead. */
const LONGEST_RETRY_AFTER_MS = 60_000

/** What becomes of a request whose answer is lost or a refusal. */
export interface Repeatable {
  /** Whether carrying it out twice equals carrying it out once. */
  readonly isIdempotent: boolean
  /** Whether its body can be sent again. */
  readonly hasLastingBody: boolean
}

/** Whether a refusal may be retried. A limit (429) refuses before anything has happened. */
export function mayRetryStatus(status: number, { isIdempotent, hasLastingBody }: Repeatable): boolean {
  return hasLastingBody && TRANSIENT.has(status) && (isIdempotent || status === 429)
}

/** Whether a request whose connection failed may be sent again. */
export function mayRetryConnection(error: unknown, { isIdempotent, hasLastingBody }: Repeatable): boolean {
  return hasLastingBody && (isIdempotent || neverArrived(error))
}

/** A refused connection has carried nothing. Other errors say nothing about how far the request came. */
export function neverArrived(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } } | null)?.cause?.code
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ConnectionRefused'
}

/**
 * Milliseconds before the attempt after `attempt` (0 for the first): as the server asks, else exponential with jitter.
 * `null`: the server asks for too much.
 */
export function retryDelayMs(attempt: number, retryAfter: string | null): number | null {
  const backoffMs = Math.min(FIRST_DELAY_MS * 2 ** attempt, LONGEST_DELAY_MS)
  const jittered = backoffMs * (0.5 + Math.random() / 2)
  if (retryAfter === null) return jittered
  const seconds = Number(retryAfter)
  const askedMs = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000
  if (Number.isNaN(askedMs)) return jittered
  if (askedMs > LONGEST_RETRY_AFTER_MS) return null
  return Math.max(askedMs, 0) + Math.random() * FIRST_DELAY_MS
}

/** By which the service recognizes a repeated request. `crypto.randomUUID` exists only in secure contexts of browsers. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
