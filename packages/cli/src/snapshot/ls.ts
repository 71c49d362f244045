import type { Action } from '../frame/command.ts'
import { age, bytes } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly name?: string
  readonly sandbox?: string
  readonly template?: string
}

export const run: Action<Options> = async (cli, { options }) => {
  const { name, sandbox, template } = options
  const api = await cli.api()
  const sandboxId = sandbox === undefined ? undefined : await resolve(api, 'sandbox', sandbox)
  const query = { limit: 1000, name, sandbox_id: sandboxId, template }
  const snapshots = await api.list('GET /v1/snapshots', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, snapshots, {
    id: ({ id }) => id,
    headings: ['ID', 'NAME', 'SANDBOX', 'TEMPLATE', 'SIZE', 'AGE'],
    row: (each) => [
      each.id,
      each.name ?? '',
      each.sandbox_id.slice(0, 8),
      each.template,
      bytes(each.size_bytes),
      age(each.created_at),
    ],
    empty: 'There are no snapshots. Take one: offshoot sandbox snapshot SANDBOX',
  })
}
