import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const taking = api.request('POST /v1/databases/{id}/backups', { path: { id }, signal: cli.signal })
  const backup = await withProgress(cli, 'backing up', taking)
  cli.out.result(line.options, backup, backup.id)
}
