import { afterAll, beforeAll, beforeEach } from 'vitest'
import { keepPicture } from './console-flaws.ts'
import { Console } from './console.ts'
import type { Offshoot } from './offshoot.ts'
import { borrow, giveBack } from './server-pool.ts'

export interface ConsoleWorld {
  readonly offshoot: Offshoot
  readonly console: Console
}

/**
 * Gives the tests of a file a server and a browser in which the first user is signed in. A failed test leaves a picture,
 * if pictures are wanted.
 * @param start starts a server for this file alone. Default: one that files use in turn.
 * @returns what to call inside tests and hooks
 */
export function consoleWorld(start?: () => Promise<Offshoot>): () => ConsoleWorld {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await (start ?? borrow)()
    console = await Console.start(offshoot)
    await console.signIn()
  })
  beforeEach(({ task, onTestFailed }) => {
    console.problems.length = 0
    onTestFailed(() => keepPicture(console.page, `failed ${task.name}`))
  })
  afterAll(async () => {
    await console?.stop()
    await (start === undefined ? giveBack() : offshoot?.destroy())
  })
  return () => ({ offshoot, console })
}
