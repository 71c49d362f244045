import type { App } from '@offshoot/contract/app'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import type { Output, Style } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'

const STYLES: Readonly<Record<App['status'], Style>> = {
  created: 'yellow',
  building: 'yellow',
  running: 'green',
  hibernated: 'blue',
  error: 'red',
}

export const run: Action = async (cli, line) => {
  const app = await readApp(cli, operand(line, 0))
  if (line.options.json) return cli.out.json(app)
  if (line.options.quiet) return cli.out.line(app.id)
  cli.out.pairs([
    ['id', app.id],
    ['name', app.name],
    ['status', statusOf(cli.out, app.status)],
    ['address', app.url],
    ['address', app.name_url],
    ['visibility', app.visibility],
    ['repository', app.git_url],
    ['branch', app.git_branch],
    ['folder', app.root_directory],
    ['framework', app.framework ?? 'detected'],
    ['install', app.install_command],
    ['build', app.build_command],
    ['start', app.start_command],
    ['variables', Object.keys(app.env).join(', ') || 'none'],
    ['port', String(app.port)],
    ['instances', `at most ${app.max_instances}`],
    ['deploys', app.auto_deploy ? 'each push' : 'when asked'],
    ['previews', app.preview_deploys ? 'each pull request' : 'none'],
    ['sleeps', `after ${app.idle_timeout_seconds} s without a request`],
    ['deployment', app.active_deployment_id ?? 'none'],
    ['created', app.created_at],
  ])
}

/** The status in its colour. */
export function statusOf(out: Output, status: App['status']): string {
  return out.style(STYLES[status], status)
}

export async function readApp(cli: Cli, text: string): Promise<App> {
  const api = await cli.api()
  return api.request('GET /v1/apps/{id}', { path: { id: await resolve(api, 'app', text) }, signal: cli.signal })
}
