import { setTimeout as wait } from 'node:timers/promises'
import { patience } from './host-guest.ts'

/** Waits until the condition holds; fails after the tests' patience. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = patience(what)
  while (!(await condition())) {
    deadline.throwIfOver()
    await wait(5)
  }
}
