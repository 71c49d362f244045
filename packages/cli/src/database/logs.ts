import { type Action, operand } from '../frame/command.ts'
import { resolve } from '../frame/resolve.ts'
import { type LogOptions, showLogs } from '../server/show-logs.ts'

export const run: Action<LogOptions> = async (cli, line) => {
  const id = await resolve(await cli.api(), 'database', operand(line, 0))
  await showLogs(cli, 'GET /v1/databases/{id}/logs', id, line.options)
}
