import type { Cli } from './cli.ts'
import type { Line } from './command.ts'
import { forEach } from './for-each.ts'
import { confirmLoss } from './questions.ts'

/** Options of commands that ask before something is lost. */
export interface Agreement {
  readonly yes?: boolean
}

/**
 * Asks, then deletes the objects that a command line names, and prints the id of each.
 * @param what the objects, as in `databases with all their data`
 * @param work deletes the object that the text names, and returns its id
 */
export async function removeEach(
  cli: Cli,
  { operands, options }: Line<Agreement>,
  what: string,
  work: (text: string) => Promise<string>,
): Promise<number> {
  await confirmLoss(cli, `this deletes ${what}: ${operands.join(', ')}`, options.yes === true)
  return forEach(cli, operands, 'deleting', async (text) => cli.out.line(await work(text)))
}
