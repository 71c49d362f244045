import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'

interface Options {
  readonly for?: string
}

export const run: Action<Options> = async (cli, { options: { json, for: hostId } }) => {
  const body = hostId === undefined ? {} : { host_id: hostId }
  const made = await operatorApi(cli).request('POST /v1/admin/hosts/tokens', { body, signal: cli.signal })
  if (json) cli.out.json(made)
  else cli.out.line(made.token)
}
