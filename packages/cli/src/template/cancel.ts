import { type Action, operand } from '../frame/command.ts'
import { findBuild } from './find-build.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const id = await findBuild(api, operand(line, 0))
  await api.request('DELETE /v1/builds/{id}', { path: { id }, signal: cli.signal })
  cli.out.line(id)
}
