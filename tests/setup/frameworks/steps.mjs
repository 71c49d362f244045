/** What the programs beside it have in common. */
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds until a condition must hold. */
const WITHIN_MS = 30_000

/** Runs one step, and prints its name when it went well. */
export async function step(name, run) {
  await run()
  console.log(`passed: ${name}`)
}

export async function until(isSo) {
  const endMs = Date.now() + WITHIN_MS
  while (!(await isSo())) {
    assert(Date.now() < endMs, `not within ${WITHIN_MS} ms: ${isSo}`)
    await delay(50)
  }
}

/** The error that a call fails with. */
export const errorOf = (call) =>
  call.then(
    () => assert.fail('it did not fail'),
    (error) => error,
  )

/**
 * The answer of a sandbox's port. The host is asked at the gateway's address, because not every machine resolves names
 * below `localhost`.
 */
export async function answerOf(host, gateway = process.env.E2B_SANDBOX_URL) {
  const { promise, resolve, reject } = Promise.withResolvers()
  get(`${gateway}/`, { headers: { host } }, resolve).once('error', reject)
  const answer = await promise
  return { status: answer.statusCode, body: await text(answer) }
}
