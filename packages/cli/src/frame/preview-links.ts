import type { Cli } from './cli.ts'
import type { Line } from './command.ts'
import { age } from './output.ts'
import { pick, resolve } from './resolve.ts'
import { parsePort } from './values.ts'

/** What has private previews. */
type Kind = 'sandbox' | 'app'

interface LinkOptions {
  readonly expires?: number
  readonly label?: string
}

/** Makes a link that opens a private preview, and prints its address. */
export async function makeLink(cli: Cli, line: Line<LinkOptions>, kind: Kind): Promise<void> {
  const { expires, label } = line.options
  const { api, path, routes } = await place(cli, line, kind)
  const body = { expires_in_seconds: expires, label }
  const link = await api.request(routes.create, { path, body, signal: cli.signal })
  cli.out.result(line.options, link, link.url)
}

/** Lists the links that have not expired, or revokes one. */
export async function showLinks(cli: Cli, line: Line<{ readonly rm?: string }>, kind: Kind): Promise<void> {
  const { rm } = line.options
  const { api, path, routes } = await place(cli, line, kind)
  const links = await api.list(routes.list, { path, query: { limit: 1000 }, signal: cli.signal }).all()
  if (rm !== undefined) {
    const { id } = pick('link', `offshoot ${kind} links ${line.operands.join(' ')}`, rm, links)
    await api.request(routes.remove, { path: { ...path, link_id: id }, signal: cli.signal })
    return cli.out.line(id)
  }
  cli.out.list(line.options, links, {
    id: ({ id }) => id,
    headings: ['ID', 'LABEL', 'AGE', 'EXPIRES IN'],
    row: (each) => [each.id, each.label ?? '', age(each.created_at), age(each.expires_at)],
    empty: `There are no links. Make one: offshoot ${kind} link ${line.operands.join(' ')}`,
  })
}

const APP_ROUTES = {
  create: 'POST /v1/apps/{id}/links',
  list: 'GET /v1/apps/{id}/links',
  remove: 'DELETE /v1/apps/{id}/links/{link_id}',
} as const

const SANDBOX_ROUTES = {
  create: 'POST /v1/sandboxes/{id}/ports/{port}/links',
  list: 'GET /v1/sandboxes/{id}/ports/{port}/links',
  remove: 'DELETE /v1/sandboxes/{id}/ports/{port}/links/{link_id}',
} as const

/** Where the links are that the operands mean: an app, or a sandbox and a port. */
async function place(cli: Cli, { operands }: Line, kind: Kind) {
  const [text = '', port = ''] = operands
  const more = kind === 'sandbox' ? { port: String(parsePort(port)) } : {}
  const api = await cli.api()
  const path = { id: await resolve(api, kind, text), ...more }
  // The routes of a sandbox differ only in the port, which `path` has then.
  return { api, path, routes: kind === 'app' ? APP_ROUTES : (SANDBOX_ROUTES as unknown as typeof APP_ROUTES) }
}
