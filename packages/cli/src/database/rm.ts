import type { Action } from '../frame/command.ts'
import { type Agreement, removeEach } from '../frame/remove.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action<Agreement> = async (cli, line) => {
  const api = await cli.api()
  return removeEach(cli, line, 'databases with all their data and backups', async (text) => {
    const id = await resolve(api, 'database', text)
    await api.request('DELETE /v1/databases/{id}', { path: { id }, signal: cli.signal })
    return id
  })
}
