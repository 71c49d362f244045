import { betterAuth } from 'better-auth'
import { bearer, jwt, organization } from 'better-auth/plugins'
import type { Kysely } from 'kysely'
import type { Logger } from 'pino'

/** `aud` of every token we sign: a token made for another service of the same issuer is not for us. */
export const AUDIENCE = 'offshoot'

export interface AccountsOptions {
  readonly db: Kysely<never>
  /** Also `iss` of the tokens. */
  readonly publicUrl: string
  readonly secret: string
  /** Origins whose pages may sign in with cookies. */
  readonly corsOrigins: readonly string[]
  readonly log: Logger
}

/**
 * Users, sessions, workspaces and the keys that sign tokens, on the tables of migration 0001.
 * Tokens: EdDSA, 24 hours, `sub` the user, `org` the workspace chosen in the session, if any.
 */
export function createAccounts({ db, publicUrl, secret, corsOrigins, log }: AccountsOptions) {
  return betterAuth({
    appName: 'Offshoot',
    baseURL: publicUrl,
    basePath: '/api/auth',
    secret,
    trustedOrigins: [publicUrl, ...corsOrigins],
    database: { db, type: 'postgres' },
    advanced: { database: { generateId: 'uuid' } },
    emailAndPassword: { enabled: true, minPasswordLength: 12, maxPasswordLength: 128 },
    telemetry: { enabled: false },
    logger: {
      level: 'warn',
      log: (level, message) => log[level === 'error' ? 'error' : 'warn']({ part: 'accounts' }, message),
    },
    plugins: [
      organization(),
      bearer(),
      jwt({
        jwks: { keyPairConfig: { alg: 'EdDSA', crv: 'Ed25519' } },
        jwt: {
          issuer: publicUrl,
          audience: AUDIENCE,
          expirationTime: '24h',
          definePayload: ({ user, session }) => ({
            email: user.email,
            org: (session as { activeOrganizationId?: string | null }).activeOrganizationId ?? undefined,
          }),
        },
      }),
    ],
  })
}

export type Accounts = ReturnType<typeof createAccounts>
