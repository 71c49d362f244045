import { type Action, operand } from '../frame/command.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'
import { parsePort } from '../frame/values.ts'

export const run: Action<{ readonly label?: string; readonly rm?: boolean }> = async (cli, line) => {
  const { label, rm = false, json, quiet } = line.options
  const port = line.operands[1] === undefined ? null : parsePort(line.operands[1])
  if (port === null && (label !== undefined || rm)) throw new UsageError('--label and --rm need a port')
  if (label !== undefined && rm) throw new UsageError('--label and --rm exclude each other')
  const api = await cli.api()
  const path = { id: await resolve(api, 'sandbox', operand(line, 0)) }
  if (rm && port !== null)
    return void (await api.request('DELETE /v1/sandboxes/{id}/ports/{port}', { path: { ...path, port: String(port) } }))
  const ports =
    label === undefined || port === null
      ? await api.request('GET /v1/sandboxes/{id}/ports', { path })
      : [await api.request('POST /v1/sandboxes/{id}/ports', { path, body: { port, label } })]
  const shown = port === null ? ports : ports.filter((each) => each.port === port)
  if (json) return cli.out.json(shown)
  if (quiet) return shown.forEach((each) => cli.out.line(String(each.port)))
  if (port === null)
    return cli.out.table(
      ['PORT', 'LABEL', 'LISTENS', 'ADDRESS'],
      shown.map((each) => [String(each.port), each.label ?? '', each.listening ? 'yes' : 'no', each.url]),
      'Nothing listens in this sandbox yet.',
    )
  const [first] = shown
  if (first === undefined)
    throw new Failure(`nothing listens on port ${port} of this sandbox`, {
      exitCode: EXIT.notFound,
      next: 'start a server there, or see the others with offshoot sandbox port',
    })
  cli.out.line(first.url)
}
