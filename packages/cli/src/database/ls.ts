import type { Action } from '../frame/command.ts'
import { age } from '../frame/output.ts'
import { statusOf } from './show.ts'

export const run: Action = async (cli, { options }) => {
  const api = await cli.api()
  const databases = await api.list('GET /v1/databases', { query: { limit: 1000 }, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, databases, {
    id: ({ id }) => id,
    headings: ['ID', 'LABEL', 'SIZE', 'STATUS', 'AGE'],
    row: (each) => [each.id, each.label ?? '', each.size, statusOf(out, each.status), age(each.created_at)],
    empty: 'There are no databases. Create one: offshoot db create',
  })
}
