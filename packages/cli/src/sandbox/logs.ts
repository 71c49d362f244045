import type { LogLine } from '@offshoot/contract/log'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { follow } from '../frame/follow.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly follow?: boolean
  readonly tail?: number
  readonly stream?: 'stdout' | 'stderr' | 'both'
  readonly timestamps?: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { follow: follows, tail, stream, json = false, timestamps = false } = line.options
  const api = await cli.api()
  const path = { id: await resolve(api, 'sandbox', operand(line, 0)) }
  const query = { tail, stream }
  if (follows) {
    const events = follow(cli, (how) =>
      api.follow('GET /v1/sandboxes/{id}/logs', { path, query: { ...query, follow: true }, ...how }),
    )
    for await (const { event, data } of events)
      if (event === 'line') show(cli, JSON.parse(data) as LogLine, json, timestamps)
    return
  }
  const headers = { accept: 'application/json' }
  const request = { path, query, headers, signal: cli.signal, timeoutMs: 0 }
  const lines = await api.request('GET /v1/sandboxes/{id}/logs', request)
  if (json) cli.out.json(lines)
  else for (const each of lines) show(cli, each, false, timestamps)
}

/** With `--json` and `--follow` each line is one JSON object. */
function show({ out }: Cli, line: LogLine, asJson: boolean, withTime: boolean): void {
  if (asJson) return out.line(JSON.stringify(line))
  out.line(withTime ? `${out.style('dim', line.ts)} ${line.line}` : line.line)
}
