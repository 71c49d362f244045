import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const name = nameFor('volume', operand(line, 0))
  const body = { name: operand(line, 1) }
  const api = await cli.api()
  const cloning = api.request('POST /v1/volumes/{name}/clone', { path: { name }, body, signal: cli.signal })
  const volume = await withProgress(cli, `copying ${name}`, named('volume', name, cloning))
  cli.out.result(line.options, volume, volume.name)
}
