import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'
import { backupOf } from './backups.ts'

export const run: Action<{ readonly at?: string }> = async (cli, line) => {
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const { at } = line.options
  const body = { label: line.operands[1], at: at === undefined ? undefined : await backupOf(cli, id, at) }
  const branching = api.request('POST /v1/databases/{id}/branch', { path: { id }, body, signal: cli.signal })
  const database = await withProgress(cli, 'branching', branching)
  cli.out.result(line.options, database, database.id)
}
