import { type Action, operand } from '../frame/command.ts'
import { bytes } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const path = { id: await resolve(api, 'snapshot', operand(line, 0)) }
  const snapshot = await api.request('GET /v1/snapshots/{id}', { path, signal: cli.signal })
  if (line.options.json) return cli.out.json(snapshot)
  if (line.options.quiet) return cli.out.line(snapshot.id)
  cli.out.pairs([
    ['id', snapshot.id],
    ['name', snapshot.name],
    ['sandbox', snapshot.sandbox_id],
    ['template', snapshot.template],
    ['cpu', String(snapshot.cpu)],
    ['memory', `${snapshot.memory_mb} MiB`],
    ['size', bytes(snapshot.size_bytes)],
    ['created', snapshot.created_at],
  ])
}
