import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'
import { showId } from './show.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const resetting = api.request('POST /v1/databases/{id}/reset-credentials', { path: { id }, signal: cli.signal })
  showId(cli, line, await withProgress(cli, 'changing the credentials', resetting))
}
