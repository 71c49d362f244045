import type { ControlConfig } from '@offshoot/contract/process-config'
import { betterAuth, type BetterAuthOptions } from 'better-auth'
import { APIError } from 'better-auth/api'
import { getAdapter } from 'better-auth/db/adapter'
import { bearer, jwt } from 'better-auth/plugins'
import type { Logger } from 'pino'
import type { Database } from '../../../platform/db/database.ts'
import type { Mail } from '../../../platform/mail/mail.ts'
import { existingAccountMail, resetMail, verificationMail } from './account-mails.ts'
import { ACCOUNT_RATES } from './account-rates.ts'
import { hashedSessions } from './hashed-sessions.ts'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from './password-length.ts'
import { refuseSignUp } from './sign-up-policy.ts'

/** `aud` of every token we sign: a token made for another service of the same issuer is not for us. */
export const AUDIENCE = 'offshoot'
/** Header in which {@link accountsRoutes} tells the library whose request it is; a caller's own never gets there. */
export const CLIENT_IP_HEADER = 'x-offshoot-client-ip'
/** Seconds for which a link that confirms an address works. */
const VERIFICATION_SECONDS = 24 * 3600

/** Of the library's routes, those that show or take the tokens of other sessions: we keep only their hashes. */
const CLOSED_PATHS = ['/list-sessions', '/revoke-session', '/revoke-other-sessions', '/update-session']

export interface AccountsOptions {
  readonly database: Database
  /** `public_url` is also `iss` of the tokens. */
  readonly config: Pick<ControlConfig, 'public_url' | 'cors_origins' | 'sign_up' | 'require_verified_email'>
  readonly secret: string
  readonly sendMail: (mail: Mail) => Promise<void>
  readonly log: Logger
}

/**
 * Users, sessions and the keys that sign tokens, on the tables of migration 0001. Workspaces are ours: the library's
 * would be made past plans, audit and the table of roles.
 * Tokens: EdDSA, 24 hours, `sub` the user, `sid` the session that they were made in and end with.
 */
export async function createAccounts(options: AccountsOptions) {
  const chosen = libraryOptions(options)
  const adapter = await getAdapter({ ...chosen, database: { db: options.database.db, type: 'postgres' } })
  return betterAuth({ ...chosen, database: () => hashedSessions(adapter) })
}

export type Accounts = Awaited<ReturnType<typeof createAccounts>>

function libraryOptions({ database, config, secret, sendMail, log }: AccountsOptions) {
  const { public_url: publicUrl, cors_origins: corsOrigins } = config
  return {
    appName: 'Offshoot',
    baseURL: publicUrl,
    basePath: '/api/auth',
    secret,
    trustedOrigins: [publicUrl, ...corsOrigins],
    disabledPaths: CLOSED_PATHS,
    advanced: {
      database: { generateId: 'uuid' },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      // Said, because the library leaves both checks out where it believes to be tested.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
    rateLimit: { enabled: true, storage: 'memory', ...ACCOUNT_RATES },
    verification: { storeIdentifier: 'hashed' },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: MIN_PASSWORD_CHARS,
      maxPasswordLength: MAX_PASSWORD_CHARS,
      requireEmailVerification: config.require_verified_email,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: ({ user, url, token }) => sendMail(resetMail(user, token, pageOf(url), publicUrl)),
      onExistingUserSignUp: ({ user }) => sendMail(existingAccountMail(user)),
    },
    emailVerification: {
      sendOnSignUp: true,
      expiresIn: VERIFICATION_SECONDS,
      sendVerificationEmail: ({ user, url }) => sendMail(verificationMail(user, withoutHome(url))),
    },
    databaseHooks: {
      user: { create: { before: ({ email }) => refuseSignUp(database.pool, config.sign_up, email) } },
    },
    telemetry: { enabled: false },
    // Else the library writes refusals to the console, with what the caller sent.
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
      jwt({
        jwks: { keyPairConfig: { alg: 'EdDSA', crv: 'Ed25519' } },
        jwt: {
          issuer: publicUrl,
          audience: AUDIENCE,
          expirationTime: '24h',
          definePayload: ({ user, session }) => ({ email: user.email, sid: session.id }),
        },
      }),
    ],
  } satisfies BetterAuthOptions
}

/** The link if it leads on to a page that the asker named; the library's own has none. */
function pageOf(url: string): string | null {
  return new URL(url).searchParams.get('callbackURL') ? url : null
}

/** Without a page to go on to, the answer to the link is JSON. */
function withoutHome(url: string): string {
  const link = new URL(url)
  if (link.searchParams.get('callbackURL') === '/') link.searchParams.delete('callbackURL')
  return link.href
}
