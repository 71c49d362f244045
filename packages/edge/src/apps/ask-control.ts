import { isTracing, serverAttributes, startClientSpan } from '@offshoot/kit/otlp/telemetry'
import { request } from 'undici'
import type { EdgeCredential } from '../agents/edge-credential.ts'

/** Milliseconds for an answer, during which a visitor waits. */
const ANSWER_MS = 5_000

/**
 * A query to control with the edge's own credential. `null` on 404. @throws if control is unreachable or answers
 * anything else
 */
export async function askControl(url: string, credential: EdgeCredential, answerMs = ANSWER_MS): Promise<unknown> {
  const { statusCode, body } = await send(url, await credential.get(), answerMs)
  if (statusCode === 200) return body.json()
  await body.dump()
  if (statusCode === 404) return null
  throw new Error(`control answered ${statusCode}`)
}

async function send(url: string, token: string, answerMs: number) {
  const span = isTracing() ? startClientSpan('GET', serverAttributes(url)) : undefined
  try {
    const headers = { authorization: `Bearer ${token}`, ...span?.headers }
    const answer = await request(url, { headers, headersTimeout: answerMs, bodyTimeout: answerMs })
    span?.answered(answer.statusCode)
    return answer
  } catch (error) {
    span?.fail(error)
    throw error
  } finally {
    span?.end()
  }
}
