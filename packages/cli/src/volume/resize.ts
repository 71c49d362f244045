import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { named, nameFor } from '../frame/resolve.ts'
import { mebibytes } from '../frame/values.ts'

export const run: Action = async (cli, line) => {
  const name = nameFor('volume', operand(line, 0))
  const body = { size_mb: mebibytes('size')(operand(line, 1)) }
  const api = await cli.api()
  const growing = api.request('PATCH /v1/volumes/{name}', { path: { name }, body, signal: cli.signal })
  const volume = await withProgress(cli, `resizing ${name}`, named('volume', name, growing))
  cli.out.result(line.options, volume, `${volume.name} ${volume.size_mb} MiB`)
}
