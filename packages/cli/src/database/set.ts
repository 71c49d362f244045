import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly label?: string
  readonly disk?: number
  readonly idleTimeout?: number
  readonly alwaysOn?: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { label, disk, idleTimeout, alwaysOn } = line.options
  const body = { label, disk_mb: disk, idle_timeout_seconds: idleTimeout, always_on: alwaysOn }
  if (Object.values(body).every((value) => value === undefined)) throw new UsageError('say what to change')
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const changing = api.request('PATCH /v1/databases/{id}', { path: { id }, body, signal: cli.signal })
  const database = await withProgress(cli, 'changing the database', changing)
  cli.out.result(line.options, database, database.id)
}
