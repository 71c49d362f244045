import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'

export const run: Action = async (cli, { options: { json } }) => {
  const made = await operatorApi(cli).request('POST /v1/admin/hosts/tokens', { signal: cli.signal })
  if (json) cli.out.json(made)
  else cli.out.line(made.token)
}
