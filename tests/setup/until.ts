import { setTimeout as delay } from 'node:timers/promises'
import { pauseAfter } from '@offshoot/agent/test/pause'

/**
 * Polls until `condition` returns a truthy value, at first every `everyMs`. After `withinMs` it throws an error that
 * names `what`.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T> | T,
  withinMs = 60_000,
  everyMs = 20,
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const beganAt = performance.now()
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
    const takenMs = performance.now() - beganAt
    if (takenMs > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`)
    await delay(pauseAfter(takenMs, everyMs))
  }
}
