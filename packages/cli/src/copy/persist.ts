import { setTimeout as delay } from 'node:timers/promises'
import { ConnectionError, ServerError } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'

/** Attempts in a row that bring nothing, which takes about a minute. */
const MAX_FRUITLESS = 12
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** Failed attempts in a row after which the user is told. */
const NOTED = 3

/** Whether another attempt may go better: the connection broke, or the services restart. */
export function isBroken(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof ServerError
}

/**
 * Repeats work that a broken connection ended. The work continues where it was.
 * @param work calls `advanced` whenever it got further
 */
export async function persist<T>(cli: Cli, work: (advanced: () => void) => Promise<T>): Promise<T> {
  let fruitless = 0
  const advanced = () => {
    if (fruitless >= NOTED) cli.out.note('offshoot: connected again')
    fruitless = 0
  }
  for (;;) {
    try {
      return await work(advanced)
    } catch (error) {
      if (cli.signal.aborted || !isBroken(error) || ++fruitless === MAX_FRUITLESS) throw error
      if (fruitless === NOTED) cli.out.note('offshoot: the connection is lost, trying again')
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (fruitless - 1), LONGEST_PAUSE_MS)
      await delay(pauseMs, undefined, { signal: cli.signal })
    }
  }
}

/** The body of an answer. Its connection may break, which the runtime reports with an error of its own. */
export async function* bodyOf(
  { body, url }: Response,
  onBroken: (error: Error) => void = () => undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body ?? []
  try {
    // oxlint-disable-next-line typescript/await-thenable
    for await (const chunk of chunks) yield chunk
  } catch (error) {
    const broken = new ConnectionError(`${new URL(url).pathname}: the connection broke`, { cause: error })
    onBroken(broken)
    throw broken
  }
}
