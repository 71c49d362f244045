import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { WebhookAttempt } from '@offshoot/contract/webhook'
import type { AllowedAddresses } from './allowed-address.ts'
import { sign } from './signature.ts'

/** Milliseconds of one attempt, from the look-up of the name to the end of the answer. */
export const ATTEMPT_MS = 15_000
/** Bytes of an answer that the log keeps. The rest is not read. */
const EXCERPT_BYTES = 1_024
const MAX_ERROR_CHARS = 200
const GONE = 410
/** Maximum seconds that `Retry-After` may ask for. */
const MAX_RETRY_AFTER_SECONDS = 4 * 3600

export interface Message {
  readonly url: string
  /** The newest first. */
  readonly secrets: readonly string[]
  /** The value of `webhook-id`. */
  readonly id: string
  readonly body: string
}

export interface Sent extends WebhookAttempt {
  readonly isGone: boolean
  /** As the answer asks in `Retry-After`. */
  readonly retryAfterMs: number | null
}

/**
 * Sends a message once. Only an answer with a status from 200 to 299 is a success; redirects are not followed.
 * @param stopped aborts when the process stops. Then this rejects, and the attempt does not count
 */
export async function sendMessage(addresses: AllowedAddresses, message: Message, stopped: AbortSignal): Promise<Sent> {
  const at = new Date()
  const beganMs = performance.now()
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ATTEMPT_MS)])
  let status: number | null = null
  let response: string | null = null
  let error: string | null = null
  let retryAfterMs: number | null = null
  try {
    const answer = await post(addresses, message, Math.floor(at.getTime() / 1000), signal)
    status = answer.statusCode ?? 0
    retryAfterMs = retryAfter(answer)
    if (status < 200 || status > 299) error = status < 400 ? `redirects are not followed` : `status ${status}`
    response = await excerpt(answer)
  } catch (failure) {
    stopped.throwIfAborted()
    // An answer whose rest does not come has been given.
    if (status === null || status < 200 || status > 299) {
      error = signal.aborted ? `no answer within ${ATTEMPT_MS / 1000} s` : reasonOf(failure)
    }
  }
  const durationMs = Math.round(performance.now() - beganMs)
  const attempt = { at: at.toISOString(), response_status: status, duration_ms: durationMs, error, response }
  return { ...attempt, isGone: status === GONE, retryAfterMs }
}

async function post(
  addresses: AllowedAddresses,
  { url, secrets, id, body }: Message,
  seconds: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const target = new URL(url)
  const found = await Promise.race([addresses.resolve(target.hostname), aborted(signal)])
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    signal,
    // The checked addresses, so that another answer of the name server changes nothing.
    lookup: (_host, { all }, done) => {
      const [first] = found
      if (all === true) done(null, [...found])
      else done(null, first?.address ?? '', first?.family)
    },
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'Offshoot-Webhooks/1',
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': sign(secrets, id, seconds, body),
    },
  }
  const request = (target.protocol === 'https:' ? requestHttps : requestHttp)(target, options)
  request.on('error', () => undefined)
  request.end(body)
  const [answer] = (await once(request, 'response', { signal })) as [IncomingMessage]
  return answer
}

/** The first bytes of the answer. The connection ends with them. */
async function excerpt(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes >= EXCERPT_BYTES) break
  }
  answer.destroy()
  // PostgreSQL cannot store NUL.
  return Buffer.concat(chunks).subarray(0, EXCERPT_BYTES).toString('utf8').replaceAll('\0', '\uFFFD')
}

function retryAfter({ headers }: IncomingMessage): number | null {
  const seconds = /^\d{1,9}$/.test(headers['retry-after'] ?? '') ? Number(headers['retry-after']) : null
  return seconds === null ? null : Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1000
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

/** Text for the owner of the webhook. It never contains the URL. */
function reasonOf(failure: unknown): string {
  const { code, message } = failure as { code?: unknown; message?: unknown }
  const isKnown = typeof code === 'string' && /^[A-Z_]+$/.test(code) && code !== 'ABORT_ERR'
  const text = isKnown ? code : typeof message === 'string' ? message : 'failed'
  return text.replaceAll('\0', '').slice(0, MAX_ERROR_CHARS)
}
