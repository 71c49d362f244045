import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const resetting = api.request('POST /v1/databases/{id}/reset-credentials', { path: { id }, signal: cli.signal })
  const database = await withProgress(cli, 'changing the credentials', resetting)
  cli.out.result(line.options, database, database.id)
}
