import type { Scope } from '@offshoot/contract/scope'
import { type Action, operand } from '../frame/command.ts'
import { workspaceUserApi } from '../frame/credential.ts'
import { UsageError } from '../frame/failure.ts'

const DAY_SECONDS = 86_400

export const run: Action<{ readonly scope?: readonly string[]; readonly expires?: number }> = async (cli, line) => {
  const { scope, expires, json } = line.options
  if (expires !== undefined && expires % DAY_SECONDS !== 0)
    throw new UsageError('--expires must be whole days, as in 90d')
  const api = await workspaceUserApi(cli, 'creating a key')
  const created = await api.request('POST /v1/me/tokens', {
    body: {
      name: operand(line, 0),
      // The server names the right ones.
      ...(scope !== undefined && { scopes: [...scope] as Scope[] }),
      ...(expires !== undefined && { expires_in_days: expires / DAY_SECONDS }),
    },
    signal: cli.signal,
  })
  if (json) cli.out.json(created)
  else cli.out.line(created.token)
}
