import type { ControlConfig } from '@offshoot/contract/process-config'
import { betterAuth, type BetterAuthOptions } from 'better-auth'
import { APIError } from 'better-auth/api'
import { getAdapter } from 'better-auth/db/adapter'
import { bearer } from 'better-auth/plugins/bearer'
import { jwt } from 'better-auth/plugins/jwt'
import type { Logger } from 'pino'
import type { Database } from '../../../platform/db/database.ts'
import type { Keyring } from '../../../platform/secrets/keyring.ts'
import type { Mail } from '../../../platform/mail/mail.ts'
import { existingAccountMail, passwordChangedMail, resetMail, verificationMail } from './account-mails.ts'
import { SIGNING_GRACE_HOURS, takeKeys } from './account-keys.ts'
import { ACCOUNT_RATES, rateStore } from './account-rates.ts'
import { hashedSessions } from './hashed-sessions.ts'
import { endTokens } from './membership-statements.ts'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from './password-length.ts'
import { CLOSED_FACTOR_PATHS, passkeys, refuseUsedCode, secondFactor } from './second-factors.ts'
import { signInLinks } from './sign-in-links.ts'
import { refuseSignUp } from './sign-up-policy.ts'

/** `aud` of every token that control signs. A token for another service of the same issuer is refused. */
export const AUDIENCE = 'offshoot'
/**
 * The header in which {@link accountsRoutes} gives the library the client's address. The caller's own header of that
 * name is overwritten.
 */
export const CLIENT_IP_HEADER = 'x-offshoot-client-ip'
const LOOPBACK = ['127.0.0.1', 'localhost']
/** Seconds for which the link that confirms an address is valid. */
const VERIFICATION_SECONDS = 24 * 3600

/**
 * The library's routes that show or take the tokens of other sessions. They cannot work, because control stores only
 * hashes.
 */
const CLOSED_PATHS = ['/list-sessions', '/revoke-session', '/revoke-other-sessions', '/update-session']

export interface AccountsOptions {
  readonly database: Database
  /** `public_url` is also the `iss` of the tokens. */
  readonly config: Pick<ControlConfig, 'public_url' | 'cors_origins' | 'sign_up' | 'require_verified_email'>
  readonly keyring: Keyring
  readonly sendMail: (mail: Mail) => Promise<void>
  readonly log: Logger
}

/**
 * Users, sessions and signing keys, in the tables of migration 0001. Control implements workspaces itself, because the
 * library's would bypass plans, the audit log and the table of roles.
 *
 * Tokens: EdDSA, valid for an hour. `sub` is the user. `sid` is the session in which the token was made; the token ends
 * with it.
 */
export async function createAccounts(options: AccountsOptions) {
  const chosen = libraryOptions(options)
  const adapter = await getAdapter({ ...chosen, database: { db: options.database.db, type: 'postgres' } })
  const accounts = betterAuth({ ...chosen, database: () => hashedSessions(adapter) })
  await takeKeys(accounts, options.keyring)
  return accounts
}

export type Accounts = Awaited<ReturnType<typeof createAccounts>>

function libraryOptions({ database, config, keyring, sendMail, log }: AccountsOptions) {
  const { public_url: publicUrl, cors_origins: corsOrigins } = config
  return {
    appName: 'Offshoot',
    baseURL: publicUrl,
    basePath: '/api/auth',
    secret: keyring.secretOf(0) ?? '',
    trustedOrigins: [publicUrl, ...otherNames(publicUrl), ...corsOrigins],
    disabledPaths: [...CLOSED_PATHS, ...CLOSED_FACTOR_PATHS],
    advanced: {
      database: { generateId: 'uuid' },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      // Set explicitly, because the library disables both checks when it assumes that it runs in a test.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      // The pages that need a session come from this origin. Only the way back from a provider comes from another site,
      // and must bring the cookie that proves its beginning.
      defaultCookieAttributes: { sameSite: 'strict' },
      cookies: { state: { attributes: { sameSite: 'lax' } } },
    },
    rateLimit: { enabled: true, customStorage: rateStore(), ...ACCOUNT_RATES },
    verification: { storeIdentifier: 'hashed' },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: MIN_PASSWORD_CHARS,
      maxPasswordLength: MAX_PASSWORD_CHARS,
      requireEmailVerification: config.require_verified_email,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: ({ user, url, token }) => sendMail(resetMail(user, token, pageOf(url), publicUrl)),
      onPasswordReset: async ({ user }) => {
        await endTokens(database.pool, user.id)
        await sendMail(passwordChangedMail(user, publicUrl))
      },
      onExistingUserSignUp: ({ user }) => sendMail(existingAccountMail(user)),
    },
    emailVerification: {
      sendOnSignUp: true,
      expiresIn: VERIFICATION_SECONDS,
      sendVerificationEmail: ({ user, url }) => sendMail(verificationMail(user, withoutHome(url))),
    },
    databaseHooks: {
      // Control asks a provider for nothing later, so it keeps no token of one.
      account: { create: { before: withoutTokens }, update: { before: withoutTokens } },
      user: { create: { before: ({ email }) => refuseSignUp(database.pool, config.sign_up, email) } },
      session: { create: { before: (session, request) => refuseUsedCode(database.pool, session.userId, request) } },
    },
    telemetry: { enabled: false },
    // Without this handler the library would print refusals, with the caller's input, to the console.
    onAPIError: {
      onError: (error) => {
        const isRefusal = error instanceof APIError && error.statusCode < 500
        log[isRefusal ? 'debug' : 'error']({ part: 'accounts', err: error }, 'refused or failed')
      },
    },
    logger: {
      level: 'warn',
      log: (level, message) => log[level === 'error' ? 'error' : 'warn']({ part: 'accounts' }, message),
    },
    plugins: [
      bearer(),
      secondFactor(),
      passkeys(publicUrl, corsOrigins),
      signInLinks(database.pool),
      jwt({
        jwks: { keyPairConfig: { alg: 'EdDSA', crv: 'Ed25519' }, gracePeriod: SIGNING_GRACE_HOURS * 3600 },
        jwt: {
          issuer: publicUrl,
          audience: AUDIENCE,
          expirationTime: '1h',
          definePayload: ({ user, session }) => ({ email: user.email, sid: session.id }),
        },
      }),
    ],
  } satisfies BetterAuthOptions
}

/** On the user's own machine, a browser may also open the service by the other name of the machine. */
function otherNames(publicUrl: string): string[] {
  const { protocol, hostname, port } = new URL(publicUrl)
  const others = LOOPBACK.filter((name) => name !== hostname)
  return others.length === LOOPBACK.length ? [] : others.map((name) => `${protocol}//${name}${port && `:${port}`}`)
}

async function withoutTokens<Row extends object>(row: Row) {
  return { data: { ...row, accessToken: null, refreshToken: null, idToken: null } }
}

/**
 * The link, if it redirects to a page that the caller named. Otherwise it would lead to the library's own page, which
 * does not exist.
 */
function pageOf(url: string): string | null {
  return new URL(url).searchParams.get('callbackURL') ? url : null
}

/** Without a page to redirect to, the link must answer JSON. */
function withoutHome(url: string): string {
  const link = new URL(url)
  if (link.searchParams.get('callbackURL') === '/') link.searchParams.delete('callbackURL')
  return link.href
}
