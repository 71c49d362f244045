import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'
import { moment } from '../frame/values.ts'

export const run: Action = async (cli, line) => {
  const body = { time: moment('time', operand(line, 1)), label: line.operands[2] }
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const request = { path: { id }, body, signal: cli.signal, timeoutMs: 0 }
  const restoring = api.request('POST /v1/databases/{id}/restore', request)
  const database = await withProgress(cli, `restoring as of ${body.time}`, restoring)
  cli.out.result(line.options, database, database.id)
}
