import type { LogLine } from '@offshoot/contract/log'
import type { Cli } from '../frame/cli.ts'
import { follow } from '../frame/follow.ts'

/** Options of commands that show the log of a sandbox or a database. */
export interface LogOptions {
  readonly follow?: boolean
  readonly tail?: number
  readonly stream?: 'stdout' | 'stderr' | 'both'
  readonly timestamps?: boolean
  readonly json?: boolean
}

type LogRoute = 'GET /v1/sandboxes/{id}/logs' | 'GET /v1/databases/{id}/logs'

/** Shows the lines of a log, and waits for more if the user wants to follow it. */
export async function showLogs(cli: Cli, route: LogRoute, id: string, options: LogOptions): Promise<void> {
  const { follow: follows, tail, stream, json = false, timestamps = false } = options
  const api = await cli.api()
  const path = { id }
  const query = { tail, stream }
  if (follows) {
    const events = follow(cli, (how) => api.follow(route, { path, query: { ...query, follow: true }, ...how }))
    for await (const { event, data } of events)
      if (event === 'line') show(cli, JSON.parse(data) as LogLine, json, timestamps)
    return
  }
  const headers = { accept: 'application/json' }
  const lines = await api.request(route, { path, query, headers, signal: cli.signal, timeoutMs: 0 })
  if (json) cli.out.json(lines)
  else for (const each of lines) show(cli, each, false, timestamps)
}

/** With `--json` and `--follow` each line is one JSON object. */
function show({ out }: Cli, line: LogLine, asJson: boolean, withTime: boolean): void {
  if (asJson) return out.line(JSON.stringify(line))
  out.line(withTime ? `${out.style('dim', line.ts)} ${line.line}` : line.line)
}
