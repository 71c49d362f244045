import type { Action } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { age, bytes } from '../frame/output.ts'
import { holdersOf } from './show.ts'

interface Options {
  readonly attached?: boolean
  readonly free?: boolean
}

export const run: Action<Options> = async (cli, { options }) => {
  const { attached, free } = options
  if (attached && free) throw new UsageError('--attached and --free exclude each other')
  const query = { limit: 1000, attached: free ? false : attached }
  const volumes = await (await cli.api()).list('GET /v1/volumes', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, volumes, {
    id: ({ name }) => name,
    headings: ['NAME', 'SIZE', 'USED', 'SANDBOXES', 'AGE'],
    row: (each) => [
      each.name,
      bytes(each.size_bytes),
      each.used_bytes === null ? 'unknown' : bytes(each.used_bytes),
      holdersOf(each),
      age(each.created_at),
    ],
    empty: 'There are no volumes. Create one: offshoot volume create NAME',
  })
}
