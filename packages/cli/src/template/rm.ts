import type { Action } from '../frame/command.ts'
import { type Agreement, removeEach } from '../frame/remove.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action<Agreement> = async (cli, line) => {
  const api = await cli.api()
  return removeEach(cli, line, 'templates', async (text) => {
    const name = nameFor('template', text)
    await named('template', name, api.request('DELETE /v1/templates/{name}', { path: { name }, signal: cli.signal }))
    return name
  })
}
