import type { Action } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'

/** The program starts `up` and `doctor` before it parses a command line, because they have options of their own. */
export const run: Action = async () => {
  throw new UsageError('write up and doctor directly after offshoot')
}
