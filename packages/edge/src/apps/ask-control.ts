import { request } from 'undici'
import type { EdgeCredential } from '../agents/edge-credential.ts'

/** Milliseconds for an answer: a visitor waits for it. */
const ANSWER_MS = 5_000

/** One question of the edge's own. `null` for what is not there. @throws when control is away, or has another answer */
export async function askControl(url: string, credential: EdgeCredential, answerMs = ANSWER_MS): Promise<unknown> {
  const { statusCode, body } = await request(url, {
    headers: { authorization: `Bearer ${await credential.get()}` },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
  })
  if (statusCode === 200) return body.json()
  await body.dump()
  if (statusCode === 404) return null
  throw new Error(`control answered ${statusCode}`)
}
