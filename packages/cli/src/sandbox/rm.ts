import type { Action } from '../frame/command.ts'
import { forEach } from '../frame/for-each.ts'
import { resolve } from '../frame/resolve.ts'

export const run: Action = async (cli, { operands }) => {
  const api = await cli.api()
  return forEach(cli, operands, 'deleting', async (text) => {
    const id = await resolve(api, 'sandbox', text)
    await api.request('DELETE /v1/sandboxes/{id}', { path: { id }, signal: cli.signal })
    cli.out.line(id)
  })
}
