import { type Action, operand } from '../frame/command.ts'
import { withProgress } from '../frame/progress.ts'
import { fieldsOf, readVariables, type Settings } from './settings.ts'

interface Options extends Settings {
  readonly env?: Readonly<Record<string, string>>
  readonly envFile?: string
}

export const run: Action<Options> = async (cli, line) => {
  const { env, envFile, ...settings } = line.options
  const variables = envFile === undefined ? env : { ...(await readVariables(cli, envFile)), ...env }
  const body = { ...fieldsOf(settings), name: operand(line, 0), git_url: operand(line, 1), env: variables }
  const creating = (await cli.api()).request('POST /v1/apps', { body, signal: cli.signal })
  const app = await withProgress(cli, 'creating the app', creating)
  cli.out.result(line.options, app, app.id)
  if (!line.options.json && !line.options.quiet) cli.out.note(`Deploy it: offshoot app deploy ${app.name}`)
}
