import { type Action, operand } from '../frame/command.ts'
import { age, bytes } from '../frame/output.ts'
import { confirmLoss } from '../frame/questions.ts'
import type { Agreement } from '../frame/remove.ts'
import { named, nameFor, pick } from '../frame/resolve.ts'

interface Options extends Agreement {
  readonly rm?: string
}

export const run: Action<Options> = async (cli, line) => {
  const { rm, yes = false } = line.options
  const name = nameFor('volume', operand(line, 0))
  const api = await cli.api()
  const route = 'GET /v1/volumes/{name}/snapshots'
  const listing = api.list(route, { path: { name }, query: { limit: 1000 }, signal: cli.signal })
  const snapshots = await named('volume', name, listing.all())
  const { out } = cli
  if (rm !== undefined) {
    const { id } = pick('volume snapshot', `offshoot volume snapshots ${name}`, rm, snapshots)
    await confirmLoss(cli, `this deletes the snapshot ${id} of ${name}`, yes)
    await api.request('DELETE /v1/volumes/{name}/snapshots/{id}', { path: { name, id }, signal: cli.signal })
    return out.line(id)
  }
  out.list(line.options, snapshots, {
    id: ({ id }) => id,
    headings: ['ID', 'SIZE', 'AGE'],
    row: (each) => [each.id, bytes(each.size_bytes), age(each.created_at)],
    empty: `There are no snapshots of ${name}. Take one: offshoot volume snapshot ${name}`,
  })
}
