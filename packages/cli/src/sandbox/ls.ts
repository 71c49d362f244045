import type { Sandbox } from '@offshoot/contract/sandbox'
import type { Action } from '../frame/command.ts'
import { age } from '../frame/output.ts'
import { nameOf, remaining, statusOf } from './show.ts'

interface Options {
  readonly status?: Sandbox['status']
  readonly template?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export const run: Action<Options> = async (cli, { options }) => {
  const { status, template, metadata = {} } = options
  const tags = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value])
  const query = {
    limit: 1000,
    status: status && [status],
    template,
    ...(Object.fromEntries(tags) as Record<string, string>),
  }
  const sandboxes = await (await cli.api()).list('GET /v1/sandboxes', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, sandboxes, {
    id: ({ id }) => id,
    headings: ['ID', 'NAME', 'TEMPLATE', 'STATUS', 'AGE', 'LIFE', 'OWNER'],
    row: (each) => [
      each.id,
      nameOf(each),
      each.template,
      statusOf(out, each.status),
      age(each.created_at),
      remaining(each),
      each.managed_by ?? '',
    ],
    empty: 'There are no sandboxes. Create one: offshoot sandbox create',
  })
}
