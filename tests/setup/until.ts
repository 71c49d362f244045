import { setTimeout as delay } from 'node:timers/promises'
import { pauseAfter } from '@offshoot/agent/test/pause'

/** Waits for a condition to give something truthy, asking every `everyMs` at first; fails with what it waited for after `withinMs`. */
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
