import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { ensureAccount } from './account-statements.ts'
import type { Accounts } from './accounts.ts'
import { mintApiKey } from './api-key.ts'
import { insertApiKey } from './api-key-statements.ts'
import { endTokens, membershipsOfUser, userByEmail } from './membership-statements.ts'
import { makeSignInLink } from './sign-in-links.ts'
import { makePersonalWorkspace } from './personal-workspace.ts'

/** The first user of a new installation. The domain never resolves (RFC 6761). */
const EMAIL = 'admin@offshoot.localhost'

/** How long the printed token is valid. The next start prints another. */
const TOKEN_SECONDS = 24 * 3600

export interface FirstCredentials {
  readonly api_key: string | null
  readonly jwt: string
  readonly email: string
  readonly password: string | null
  /** Signs the user in once, in the console. */
  readonly sign_in_token: string
}

/** Every step checks whether it was already done, so that the next start completes an interrupted one. */
export async function firstCredentials(
  pool: pg.Pool,
  accounts: Accounts,
  { makesNewKey }: { readonly makesNewKey: boolean },
): Promise<FirstCredentials> {
  const [existing] = await userByEmail(pool, EMAIL)
  const password = existing === undefined || makesNewKey ? randomBytes(18).toString('base64url') : null
  const userId = existing?.id ?? (await signUp(accounts, password))
  if (existing !== undefined && password !== null) {
    await setPassword(accounts, userId, password)
    await endTokens(pool, userId)
  }
  await makePersonalWorkspace(pool, userId, 'Admin')
  const [membership] = await membershipsOfUser(pool, userId, null, null)
  const workspaceId = membership?.workspace_id
  if (workspaceId === null || workspaceId === undefined) throw new Error('the first user has no workspace')
  // The operator's own workspace is exempt from billing.
  await ensureAccount(pool, workspaceId, 'self-hosted', 'operator')
  // `iat` is rounded up, so that the reset above does not end this token.
  const iat = Math.floor(Date.now() / 1000) + 1
  const { token: jwt } = await accounts.api.signJWT({
    body: { payload: { sub: userId, email: EMAIL, org: workspaceId, iat, exp: iat + TOKEN_SECONDS } },
  })
  const apiKey = password === null ? null : await makeKey(pool, workspaceId, userId)
  const signInToken = await makeSignInLink(pool, userId)
  return { api_key: apiKey, jwt, email: EMAIL, password, sign_in_token: signInToken }
}

/** A new link for the first user. @throws if there is no such user yet */
export async function firstSignInLink(pool: pg.Pool): Promise<string> {
  const [user] = await userByEmail(pool, EMAIL)
  if (user === undefined) throw new Error('the first user does not exist yet')
  return makeSignInLink(pool, user.id)
}

async function signUp(accounts: Accounts, password: string | null): Promise<string> {
  if (password === null) throw new Error('a new user needs a password')
  const { user } = await accounts.api.signUpEmail({ body: { email: EMAIL, password, name: 'Admin' } })
  return user.id
}

async function setPassword(accounts: Accounts, userId: string, password: string): Promise<void> {
  const context = await accounts.$context
  await context.internalAdapter.updatePassword(userId, await context.password.hash(password))
  await context.internalAdapter.deleteUserSessions(userId)
}

async function makeKey(pool: pg.Pool, workspaceId: string, userId: string): Promise<string> {
  const { key, prefix, hash } = mintApiKey()
  await insertApiKey(pool, prefix, hash, workspaceId, 'first key', userId, null, null)
  return key
}
