import { type Action, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { showHost } from './show.ts'

/** Stands for no zone on the command line. */
const NONE = '-'

export const run: Action = async (cli, line) => {
  const [path, zone] = [{ id: operand(line, 0) }, operand(line, 1)]
  const body = { zone: zone === NONE ? null : zone }
  const host = await operatorApi(cli).request('PATCH /v1/admin/hosts/{id}', { path, body, signal: cli.signal })
  showHost(cli, line.options, host)
}
