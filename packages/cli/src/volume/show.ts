import type { Volume } from '@offshoot/contract/volume'
import { type Action, operand } from '../frame/command.ts'
import { bytes } from '../frame/output.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const name = nameFor('volume', operand(line, 0))
  const api = await cli.api()
  const reading = api.request('GET /v1/volumes/{name}', { path: { name }, signal: cli.signal })
  const volume = await named('volume', name, reading)
  if (line.options.json) return cli.out.json(volume)
  if (line.options.quiet) return cli.out.line(volume.name)
  cli.out.pairs([
    ['name', volume.name],
    ['size', bytes(volume.size_bytes)],
    ['used', volume.used_bytes === null ? null : bytes(volume.used_bytes)],
    ['sandboxes', holdersOf(volume) || 'none'],
    ['host', volume.agent_id],
    ['created', volume.created_at],
  ])
}

/** The sandboxes that have a volume attached. */
export function holdersOf({ attachments }: Volume): string {
  return attachments
    .map(({ sandbox_id: id, read_only: readsOnly }) => `${id.slice(0, 8)}${readsOnly ? ' (reads)' : ''}`)
    .join(', ')
}
