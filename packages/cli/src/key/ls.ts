import type { Action } from '../frame/command.ts'
import { workspaceUserApi } from '../frame/credential.ts'
import { age } from '../frame/output.ts'

export const run: Action = async (cli, { options: { json, quiet } }) => {
  const keys = await (await workspaceUserApi(cli, 'listing keys')).list('GET /v1/me/tokens', {}).all()
  if (json) return cli.out.json(keys)
  if (quiet) return keys.forEach(({ prefix }) => cli.out.line(prefix))
  cli.out.table(
    ['PREFIX', 'NAME', 'SCOPES', 'AGE', 'LAST USED', 'EXPIRES'],
    keys.map((each) => [
      each.prefix,
      each.name,
      each.scopes?.join(', ') ?? 'all',
      age(each.created_at),
      each.last_used_at === null ? 'never' : `${age(each.last_used_at)} ago`,
      each.expires_at === null ? 'never' : each.expires_at,
    ]),
    'There are no API keys. Create one: offshoot key create NAME',
  )
}
