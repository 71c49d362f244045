import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const id = await resolve(api, 'sandbox', operand(line, 0))
  const body = { name: line.operands[1] }
  const taking = api.request('POST /v1/sandboxes/{id}/snapshots', { path: { id }, body, signal: cli.signal })
  const snapshot = await withProgress(cli, 'taking the snapshot', taking)
  cli.out.result(line.options, snapshot, snapshot.id)
}
