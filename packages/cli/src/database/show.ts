import type { Database } from '@offshoot/contract/database'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import type { Output, Style } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'

const STYLES: Readonly<Record<Database['status'], Style>> = {
  provisioning: 'yellow',
  running: 'green',
  hibernated: 'blue',
  failed: 'red',
}

export const run: Action = async (cli, line) => {
  const database = await readDatabase(cli, operand(line, 0))
  if (line.options.json) return cli.out.json(database)
  if (line.options.quiet) return cli.out.line(database.id)
  cli.out.pairs([
    ['id', database.id],
    ['label', database.label],
    ['status', statusOf(cli.out, database.status)],
    ['size', database.size],
    ['cpu', String(database.cpu)],
    ['memory', `${database.memory_mb} MiB`],
    ['disk', `${database.disk_mb} MiB`],
    ['sleeps', database.always_on ? 'never' : `after ${database.idle_timeout_seconds} s without a connection`],
    ['host', database.host],
    ['port', String(database.port)],
    ['database', database.database],
    ['user', database.username],
    ['branch of', database.parent_id],
    ['created', database.created_at],
  ])
  cli.out.note(`Its connection string: offshoot db url ${database.id}`)
}

/** The status in its colour. */
export function statusOf(out: Output, status: Database['status']): string {
  return out.style(STYLES[status], status)
}

/** The whole record, with the credentials. */
export async function readDatabase(cli: Cli, text: string): Promise<Database> {
  const api = await cli.api()
  const path = { id: await resolve(api, 'database', text) }
  return api.request('GET /v1/databases/{id}', { path, signal: cli.signal })
}
