import type { Action } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'

/** The program starts these commands before it parses a command line, because they have options of their own. */
export const run: Action = async () => {
  throw new UsageError('write commands of the server directly after offshoot')
}
