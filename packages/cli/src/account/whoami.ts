import type { Action } from '../frame/command.ts'
import { userApi } from '../frame/credential.ts'
import { prefixOf } from './login.ts'

export const run: Action = async (cli, { options: { json } }) => {
  const key = cli.env['OFFSHOOT_API_KEY'] || cli.config.api_key
  if (key !== undefined) {
    // Checks that the key works; no route tells more about it.
    await (await cli.api()).request('GET /v1/sandboxes', { query: { limit: 1 } })
    const shown = { base_url: cli.baseUrl, auth_method: 'key', key_prefix: prefixOf(key) }
    if (json) return cli.out.json(shown)
    return cli.out.pairs([
      ['server', shown.base_url],
      ['key', shown.key_prefix],
      ['workspace', 'the one of the key'],
    ])
  }
  await cli.api()
  const me = await (await userApi(cli, 'whoami')).request('GET /v1/me')
  const workspace = me.orgs.find(({ id }) => id === cli.config.workspace?.id) ?? me.org
  if (json) return cli.out.json({ base_url: cli.baseUrl, ...me, org: workspace })
  cli.out.pairs([
    ['server', cli.baseUrl],
    ['account', me.user.email],
    ['workspace', `${workspace.slug} (${workspace.name})`],
    ['role', workspace.role],
    ['plan', workspace.plan],
  ])
}
