import { isTracing, serverAttributes, startClientSpan } from '@offshoot/kit/otlp/telemetry'
import { request } from 'undici'
import type { EdgeCredential } from '../agents/edge-credential.ts'

/** Milliseconds for an answer, during which a visitor waits. */
const ANSWER_MS = 5_000

interface AskOptions {
  readonly answerMs?: number
  /** Sent as JSON by a POST. Absent: a GET. */
  readonly body?: object
}

/**
 * A query to control with the edge's own credential. `null` on 404. @throws if control is unreachable or answers
 * anything else
 */
export async function askControl(url: string, credential: EdgeCredential, options: AskOptions = {}): Promise<unknown> {
  const { statusCode, body } = await send(url, await credential.get(), options)
  if (statusCode === 200) return body.json()
  await body.dump()
  if (statusCode === 404) return null
  throw new Error(`control answered ${statusCode}`)
}

async function send(url: string, token: string, { answerMs = ANSWER_MS, body }: AskOptions) {
  const method = body === undefined ? 'GET' : 'POST'
  const span = isTracing() ? startClientSpan(method, serverAttributes(url)) : undefined
  try {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...span?.headers,
    }
    const answer = await request(url, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
    })
    span?.answered(answer.statusCode)
    return answer
  } catch (error) {
    span?.fail(error)
    throw error
  } finally {
    span?.end()
  }
}
