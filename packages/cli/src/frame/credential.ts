import type { Offshoot } from '@offshoot/sdk'
import { clientOf } from './client.ts'
import { type Config, writeConfig } from './config.ts'
import { EXIT, Failure } from './failure.ts'

/** What is known about the user; `Cli` is one. */
interface Holder {
  readonly env: NodeJS.ProcessEnv
  readonly config: Config
  readonly configPath: string
  readonly baseUrl: string
  forget(): void
}

/** Seconds for which a token of a workspace is valid. It is kept and used again. */
const TOKEN_SECONDS = 3600
/** A token with less time left is replaced. */
const SPARE_MS = 5 * 60_000

/** The bearer token of requests: an API key, or a token of the chosen workspace made from the user's session. */
export function credentialOf(cli: Holder): () => Promise<string> {
  const key = cli.env['OFFSHOOT_API_KEY']
  if (key) return async () => withoutSpaces(key)
  // A credential of one server must never be sent to another that the command line or a variable names.
  const { api_key: apiKey, session, base_url: loginUrl } = cli.config
  if (apiKey === undefined && session === undefined)
    throw new Failure('you are not signed in', {
      exitCode: EXIT.noPermission,
      next: 'sign in with offshoot login, or set OFFSHOOT_API_KEY',
    })
  if (loginUrl !== cli.baseUrl)
    throw new Failure(`you are signed in to ${loginUrl ?? 'no server'} and not to ${cli.baseUrl}`, {
      exitCode: EXIT.noPermission,
      next: `sign in with offshoot login --base-url ${cli.baseUrl}, or set OFFSHOOT_API_KEY`,
    })
  if (apiKey !== undefined) return async () => apiKey
  return async () => workspaceToken(cli)
}

/** Header values cannot hold line ends; a key in a variable often has one. */
function withoutSpaces(key: string, variable = 'OFFSHOOT_API_KEY'): string {
  const trimmed = key.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new Failure(`${variable} is no API key`, {
      exitCode: EXIT.usage,
      next: 'set it to a key such as ofs_…, without spaces',
    })
  return trimmed
}

/** Throws a `Failure` unless the user signed in with an account, as opposed to an API key. */
export function requireSession(cli: Holder, what: string): string {
  const { session, base_url: loginUrl } = cli.config
  if (session !== undefined && loginUrl === cli.baseUrl && !cli.env['OFFSHOOT_API_KEY']) return session
  throw new Failure(`${what} needs an account, and an API key is none`, {
    exitCode: EXIT.noPermission,
    next: 'sign in with offshoot login --email YOUR@ADDRESS, without OFFSHOOT_API_KEY',
  })
}

/** The API in the name of the user, for routes that no API key opens. */
export async function userApi(cli: Holder, what: string): Promise<Offshoot> {
  const session = requireSession(cli, what)
  let token: string | null = null
  return clientOf(cli.baseUrl, async () => (token ??= await userToken(cli.baseUrl, session)))
}

/** The same for routes about the workspace that `offshoot use` chose. */
export async function workspaceUserApi(cli: Holder, what: string): Promise<Offshoot> {
  const session = requireSession(cli, what)
  let token: string | null = null
  const { workspace } = cli.config
  return clientOf(cli.baseUrl, async () => (token ??= await userToken(cli.baseUrl, session)), workspace?.id)
}

/** The API in the name of an operator. Throws a `Failure` without a key of one. */
export function operatorApi(cli: Holder): Offshoot {
  const key = cli.env['OFFSHOOT_OPERATOR_KEY']
  if (!key)
    throw new Failure('hosts need the key of an operator', {
      exitCode: EXIT.noPermission,
      next: 'set OFFSHOOT_OPERATOR_KEY; the first one is operator_key in credentials.json',
    })
  return clientOf(cli.baseUrl, async () => withoutSpaces(key, 'OFFSHOOT_OPERATOR_KEY'))
}

/** A token of the user, from the session. */
export async function userToken(baseUrl: string, session: string): Promise<string> {
  const { token } = await clientOf(baseUrl, async () => session).request('GET /api/auth/token')
  return token
}

async function workspaceToken(cli: Holder): Promise<string> {
  const { access, workspace, session = '' } = cli.config
  const isFresh = access !== undefined && Date.parse(access.expires_at) - Date.now() > SPARE_MS
  if (isFresh && (workspace === undefined || workspace.id === access.workspace_id)) return access.token
  const user = clientOf(cli.baseUrl, async () => userToken(cli.baseUrl, session))
  const { token, org_id, expires_at } = await user.request('POST /v1/me/access-tokens', {
    body: { expires_in_seconds: TOKEN_SECONDS, ...(workspace !== undefined && { org_id: workspace.id }) },
  })
  await writeConfig(cli.configPath, { ...cli.config, access: { token, workspace_id: org_id, expires_at } })
  cli.forget()
  return token
}
