import type { LogLine } from '@offshoot/contract/log'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { follow } from '../frame/follow.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly follow?: boolean
  readonly tail?: number
  readonly stream?: string
  readonly timestamps?: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { follow: follows, tail, stream, json = false, timestamps = false } = line.options
  const api = await cli.api()
  const path = `/v1/sandboxes/${await resolve(api, 'sandbox', operand(line, 0))}/logs`
  const query = { tail, stream }
  if (follows) {
    for await (const { event, data } of follow(cli, path, { ...query, follow: true }))
      if (event === 'line') show(cli, JSON.parse(data) as LogLine, json, timestamps)
    return
  }
  const accept = { accept: 'application/json' }
  const response = await api.fetch('GET', path, { query, headers: accept, signal: cli.signal, isEndless: true })
  const lines = (await response.json()) as LogLine[]
  if (json) cli.out.json(lines)
  else for (const each of lines) show(cli, each, false, timestamps)
}

/** With `--json` and `--follow` each line is one JSON object. */
function show({ out }: Cli, line: LogLine, asJson: boolean, withTime: boolean): void {
  if (asJson) return out.line(JSON.stringify(line))
  out.line(withTime ? `${out.style('dim', line.ts)} ${line.line}` : line.line)
}
