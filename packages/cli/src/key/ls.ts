import type { Action } from '../frame/command.ts'
import { workspaceUserApi } from '../frame/credential.ts'
import { age } from '../frame/output.ts'

export const run: Action = async (cli, { options }) => {
  const keys = await (await workspaceUserApi(cli, 'listing keys')).list('GET /v1/me/tokens', {}).all()
  cli.out.list(options, keys, {
    id: ({ prefix }) => prefix,
    headings: ['PREFIX', 'NAME', 'SCOPES', 'AGE', 'LAST USED', 'EXPIRES'],
    row: (each) => [
      each.prefix,
      each.name,
      each.scopes?.join(', ') ?? 'all',
      age(each.created_at),
      each.last_used_at === null ? 'never' : `${age(each.last_used_at)} ago`,
      each.expires_at === null ? 'never' : each.expires_at,
    ],
    empty: 'There are no API keys. Create one: offshoot key create NAME',
  })
}
