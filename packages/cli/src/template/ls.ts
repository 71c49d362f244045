import type { Action } from '../frame/command.ts'
import { age, bytes } from '../frame/output.ts'

export const run: Action<{ readonly own?: boolean }> = async (cli, { options }) => {
  const query = { limit: 1000, is_global: options.own ? false : undefined }
  const templates = await (await cli.api()).list('GET /v1/templates', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, templates, {
    id: ({ name }) => name,
    headings: ['NAME', 'CPU', 'MEMORY', 'SIZE', 'OWNER', 'AGE'],
    row: (each) => [
      each.name,
      String(each.cpu),
      `${each.memory_mb} MiB`,
      bytes(each.size_bytes),
      each.is_global ? 'the server' : 'you',
      age(each.updated_at),
    ],
    empty: 'There are no templates. Build one: offshoot template build NAME FOLDER',
  })
}
