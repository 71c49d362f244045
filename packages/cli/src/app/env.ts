import { type Action, operand } from '../frame/command.ts'
import { readVariables } from './settings.ts'
import { readApp } from './show.ts'

/** The API never returns values, so single variables cannot be changed: it takes the whole list. */
export const run: Action<{ readonly replace?: string }> = async (cli, line) => {
  const { replace, json } = line.options
  const env = replace === undefined ? null : await readVariables(cli, replace)
  const before = await readApp(cli, operand(line, 0))
  const { id, name } = before
  const after =
    env === null
      ? before
      : await (await cli.api()).request('PATCH /v1/apps/{id}', { path: { id }, body: { env }, signal: cli.signal })
  const names = Object.keys(after.env)
  if (json) cli.out.json(names)
  else for (const each of names) cli.out.line(each)
  if (env === null) return
  const removed = Object.keys(before.env).filter((each) => !(each in env))
  if (removed.length > 0) cli.out.note(`Removed: ${removed.join(', ')}`)
  cli.out.note(`The next deploy uses them: offshoot app deploy ${name}`)
}
