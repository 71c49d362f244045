import type { DatabaseSize } from '@offshoot/contract/database'
import type { Action } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'

export const run: Action<{ readonly size?: DatabaseSize }> = async (cli, line) => {
  const body = { label: line.operands[0], size: line.options.size }
  const creating = (await cli.api()).request('POST /v1/databases', { body, signal: cli.signal })
  const database = await withProgress(cli, 'creating the database', creating)
  cli.out.result(line.options, database, database.id)
}
