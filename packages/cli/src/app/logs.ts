import { type Action, operand } from '../frame/command.ts'
import { follow } from '../frame/follow.ts'
import { resolve } from '../frame/resolve.ts'
import { showText } from '../server/show-text.ts'

export const run: Action<{ readonly follow?: boolean }> = async (cli, line) => {
  const api = await cli.api()
  const path = { id: await resolve(api, 'app', operand(line, 0)) }
  const route = 'GET /v1/apps/{id}/runtime-logs'
  if (!line.options.follow)
    return showText(cli, await api.fetch(route, { path, headers: { accept: 'text/plain' }, signal: cli.signal }))
  const events = follow(cli, (how) => api.follow(route, { path, query: { follow: true }, ...how }))
  for await (const { event, data } of events) if (event !== 'done') cli.out.line(data)
}
