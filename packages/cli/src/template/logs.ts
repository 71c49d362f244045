import { type Action, operand } from '../frame/command.ts'
import { showText } from '../server/show-text.ts'
import { findBuild } from './find-build.ts'
import { followBuild } from './watch-build.ts'

export const run: Action<{ readonly follow?: boolean }> = async (cli, line) => {
  const api = await cli.api()
  const id = await findBuild(api, operand(line, 0))
  if (line.options.follow) return followBuild(cli, id, (each) => cli.out.line(each.line))
  const headers = { accept: 'text/plain' }
  await showText(cli, await api.fetch('GET /v1/builds/{id}/logs', { path: { id }, headers, signal: cli.signal }))
}
