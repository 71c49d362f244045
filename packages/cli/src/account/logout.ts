import { rm } from 'node:fs/promises'
import { clientOf } from '../frame/client.ts'
import type { Action } from '../frame/command.ts'

export const run: Action = async (cli) => {
  const { session, base_url: baseUrl, api_key: apiKey } = cli.config
  if (session === undefined && apiKey === undefined) return cli.out.note('You were not signed in.')
  // A server that is away must not keep the user from forgetting the credentials.
  if (session !== undefined && baseUrl !== undefined)
    await clientOf(baseUrl, async () => session)
      .request('POST /api/auth/sign-out', { signal: cli.signal })
      .catch(() => cli.out.note('offshoot: the server could not be told; the session ends by itself'))
  await rm(cli.configPath, { force: true })
  cli.out.note(`Signed out of ${baseUrl ?? 'the server'}.`)
}
