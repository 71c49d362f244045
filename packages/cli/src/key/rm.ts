import type { Action } from '../frame/command.ts'
import { workspaceUserApi } from '../frame/credential.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { forEach } from '../frame/for-each.ts'

export const run: Action = async (cli, { operands }) => {
  const api = await workspaceUserApi(cli, 'revoking a key')
  const keys = await api.list('GET /v1/me/tokens', {}).all()
  return forEach(cli, operands, 'revoking', async (text) => {
    const found = keys.filter(({ prefix, name }) => prefix === text || name === text)
    const [first] = found
    if (first === undefined)
      throw new Failure(`there is no key "${text}"`, {
        exitCode: EXIT.notFound,
        next: 'list them with offshoot key ls',
      })
    if (found.length > 1) throw new UsageError(`several keys have the name "${text}": give the prefix of one`)
    await api.request('DELETE /v1/me/tokens/{prefix}', { path: { prefix: first.prefix }, signal: cli.signal })
    cli.out.line(first.prefix)
  })
}
