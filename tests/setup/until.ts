import { setTimeout as delay } from 'node:timers/promises'

/** Waits for a condition to give something truthy, asking every `everyMs`; fails with what it waited for after `withinMs`. */
export async function until<T>(
  what: string,
  condition: () => Promise<T> | T,
  withinMs = 60_000,
  everyMs = 20,
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const endsAt = performance.now() + withinMs
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
    if (performance.now() > endsAt) throw new Error(`not within ${withinMs} ms: ${what}`)
    await delay(everyMs)
  }
}
