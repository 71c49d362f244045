import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { type Agreement, removeEach } from '../frame/remove.ts'

interface Options extends Agreement {
  readonly reason?: string
}

export const run: Action<Options> = async (cli, line) => {
  const api = operatorApi(cli)
  const { reason } = line.options
  const query = reason === undefined ? {} : { reason }
  const what = reason === undefined ? 'hosts from the service' : 'hosts from the service, with everything on them'
  return removeEach(cli, line, what, async (id) => {
    await api.request('DELETE /v1/admin/hosts/{id}', { path: { id }, query, signal: cli.signal })
    return id
  })
}
