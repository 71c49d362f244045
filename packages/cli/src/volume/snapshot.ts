import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const name = nameFor('volume', operand(line, 0))
  const api = await cli.api()
  const taking = api.request('POST /v1/volumes/{name}/snapshots', { path: { name }, signal: cli.signal })
  const snapshot = await withProgress(cli, 'taking the snapshot', named('volume', name, taking))
  cli.out.result(line.options, snapshot, snapshot.id)
}
