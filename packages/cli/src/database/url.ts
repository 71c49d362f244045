import { type Action, operand } from '../frame/command.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const path = { id: await resolve(api, 'database', operand(line, 0)) }
  const connection = await api.request('GET /v1/databases/{id}/connection', { path, signal: cli.signal })
  cli.out.result(line.options, connection, connection.connection_url)
}
