import { type Action, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { showHost } from './show.ts'

export const run: Action = async (cli, line) => {
  const path = { id: operand(line, 0) }
  const host = await operatorApi(cli).request('POST /v1/admin/hosts/{id}/cordon', { path, signal: cli.signal })
  showHost(cli, line.options, host)
}
