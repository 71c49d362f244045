import type { Action } from '../frame/command.ts'
import { age } from '../frame/output.ts'
import { statusOf } from './show.ts'

export const run: Action = async (cli, { options: { json, quiet } }) => {
  const api = await cli.api()
  const databases = await api.list('GET /v1/databases', { query: { limit: 1000 }, signal: cli.signal }).all()
  const { out } = cli
  if (json) return out.json(databases)
  if (quiet) return databases.forEach(({ id }) => out.line(id))
  out.table(
    ['ID', 'LABEL', 'SIZE', 'STATUS', 'AGE'],
    databases.map((each) => [each.id, each.label ?? '', each.size, statusOf(out, each.status), age(each.created_at)]),
    'There are no databases. Create one: offshoot db create',
  )
}
