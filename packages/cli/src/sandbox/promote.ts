import { type Action, operand } from '../frame/command.ts'
import { EXIT } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action<{ readonly keepSiblings?: boolean }> = async (cli, line) => {
  const { keepSiblings = false, json } = line.options
  const api = await cli.api()
  const id = await resolve(api, 'sandbox', operand(line, 0))
  const body = { cleanup_siblings: !keepSiblings }
  const promoting = api.request('POST /v1/sandboxes/{id}/promote', { path: { id }, body, signal: cli.signal })
  const { winner, deleted, failures, ...rest } = await withProgress(cli, 'promoting', promoting)
  if (json) cli.out.json({ winner, deleted, failures, ...rest })
  else cli.out.line(`${id} stays; ${deleted.length} deleted`)
  for (const [sibling, error] of Object.entries(failures))
    cli.out.note(`offshoot: ${sibling} was not deleted: ${error}`)
  return Object.keys(failures).length === 0 ? 0 : EXIT.failed
}
