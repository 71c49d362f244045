import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'
import { fieldsOf, type Settings } from './settings.ts'

export const run: Action<Settings> = async (cli, line) => {
  const body = fieldsOf(line.options)
  if (Object.values(body).every((value) => value === undefined)) throw new UsageError('say what to change')
  const api = await cli.api()
  const path = { id: await resolve(api, 'app', operand(line, 0)) }
  const app = await api.request('PATCH /v1/apps/{id}', { path, body, signal: cli.signal })
  cli.out.result(line.options, app, app.id)
}
