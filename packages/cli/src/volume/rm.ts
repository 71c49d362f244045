import type { Action } from '../frame/command.ts'
import { type Agreement, removeEach } from '../frame/remove.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action<Agreement> = async (cli, line) => {
  const api = await cli.api()
  return removeEach(cli, line, 'volumes with all their data', async (text) => {
    const name = nameFor('volume', text)
    await named('volume', name, api.request('DELETE /v1/volumes/{name}', { path: { name }, signal: cli.signal }))
    return name
  })
}
