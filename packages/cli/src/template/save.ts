import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'
import { type MakeOptions, watchBuild } from './watch-build.ts'

interface Options extends MakeOptions {
  readonly memory?: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { memory, start, ready, replace } = line.options
  if (memory && (start !== undefined || ready !== undefined))
    throw new UsageError('--memory keeps what runs, so that --start and --ready cannot be given')
  const api = await cli.api()
  const id = await resolve(api, 'sandbox', operand(line, 0))
  const body = { name: operand(line, 1), memory, start_cmd: start, ready_cmd: ready, replace }
  const taking = api.request('POST /v1/sandboxes/{id}/template', { path: { id }, body, signal: cli.signal })
  return watchBuild(cli, line, await withProgress(cli, 'taking the state of the sandbox', taking))
}
