import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'

interface Options {
  readonly size?: number
  readonly fromSnapshot?: string
}

export const run: Action<Options> = async (cli, line) => {
  const { size, fromSnapshot } = line.options
  const body = { name: operand(line, 0), size_mb: size, from_snapshot: fromSnapshot }
  const creating = (await cli.api()).request('POST /v1/volumes', { body, signal: cli.signal })
  const volume = await withProgress(cli, 'creating the volume', creating)
  cli.out.result(line.options, volume, volume.name)
}
