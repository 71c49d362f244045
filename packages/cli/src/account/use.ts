import { writeConfig } from '../frame/config.ts'
import type { Action } from '../frame/command.ts'
import { userApi } from '../frame/credential.ts'
import { pick } from '../frame/resolve.ts'

export const run: Action = async (cli, { operands: [text], options }) => {
  const me = await (await userApi(cli, 'choosing a workspace')).request('GET /v1/me')
  const current = cli.config.workspace?.id ?? me.org.id
  if (text === undefined) {
    return cli.out.list(options, me.orgs, {
      id: ({ id }) => id,
      headings: ['', 'WORKSPACE', 'NAME', 'ROLE', 'PLAN', 'ID'],
      row: (each) => [each.id === current ? '*' : '', each.slug, each.name, each.role, each.plan, each.id],
      empty: 'You have no workspace.',
    })
  }
  const chosen =
    me.orgs.find(({ id, slug }) => slug === text || id === text) ?? pick('workspace', 'offshoot use', text, me.orgs)
  const { access: _, ...config } = cli.config
  await writeConfig(cli.configPath, { ...config, workspace: { id: chosen.id, slug: chosen.slug } })
  if (options.json) cli.out.json(chosen)
  else if (options.quiet) cli.out.line(chosen.id)
  else cli.out.note(`Commands now act in the workspace ${chosen.slug}.`)
}
