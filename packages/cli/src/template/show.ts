import { type Action, operand } from '../frame/command.ts'
import { bytes } from '../frame/output.ts'
import { named, nameFor } from '../frame/resolve.ts'

export const run: Action = async (cli, line) => {
  const name = nameFor('template', operand(line, 0))
  const api = await cli.api()
  const reading = api.request('GET /v1/templates/{name}', { path: { name }, signal: cli.signal })
  const template = await named('template', name, reading)
  if (line.options.json) return cli.out.json(template)
  if (line.options.quiet) return cli.out.line(template.name)
  const { start_cmd: start, image_digest: digest } = template.meta
  cli.out.pairs([
    ['name', template.name],
    ['owner', template.is_global ? 'the server' : 'you'],
    ['cpu', String(template.cpu)],
    ['memory', `${template.memory_mb} MiB`],
    ['size', bytes(template.size_bytes)],
    ['start', typeof start === 'string' && start !== '' ? start : null],
    ['image', typeof digest === 'string' ? digest : null],
    ['created', template.created_at],
    ['updated', template.updated_at],
  ])
}
