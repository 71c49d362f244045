import type { IssuerSettings } from '@offshoot/contract/control-settings'
import { type Scope, scope } from '@offshoot/contract/scope'
import { createLocalJWKSet, decodeJwt, errors, type JWK, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose'
import type pg from 'pg'
import { z } from 'zod'
import { AUDIENCE } from './accounts.ts'
import { ForeignIssuer } from './foreign-issuer.ts'
import { signingKeys } from './membership-statements.ts'

export interface JwtClaims {
  readonly userId: string
  /** The workspace for which the token was made, if any. Membership is checked with each request. */
  readonly workspaceId: string | null
  /** The only workspace in which a narrowed token acts; `null`: any of the user's. */
  readonly onlyWorkspaceId: string | null
  /** The scopes of a narrowed token; `null`: all. */
  readonly scopes: readonly Scope[] | null
  /** Seconds since 1970. Our own tokens without `iat` count as signed long ago. `null`: an issuer's token. */
  readonly issuedAt: number | null
  readonly expiresAt: number
  /** When the user proved to an external issuer who they are, in seconds since 1970; `null`: see the session. */
  readonly provenAt: number | null
  /** The session with which the token ends; `null`: none. */
  readonly sessionId: string | null
}

/**
 * Claims of a narrowed token. `scope` is a list separated by spaces (RFC 8693).
 */
const narrowing = z.object({
  only_org: z.uuid().nullable().default(null),
  scope: z
    .string()
    .transform((text) => text.split(' '))
    .pipe(z.array(scope))
    .nullable()
    .default(null),
})

/** Asymmetric only: with a symmetric algorithm, every verifier could also sign. */
const ALGORITHMS = ['EdDSA', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512']
/** Maximum length of a token in characters. Tokens that control signs have about 500. */
const MAX_CHARS = 8 * 1024
/** Milliseconds between two reads of the database because of an unknown key id. */
const RELOAD_MS = 1_000
/** Seconds by which clocks may differ. */
const CLOCK_TOLERANCE_S = 5

/**
 * Verifies the tokens of the built-in accounts, whose public keys it keeps in memory, and those of configured issuers.
 */
export class JwtVerifier {
  readonly #pool: pg.Pool
  readonly #issuer: string
  readonly #foreign: ReadonlyMap<string, ForeignIssuer>
  #keys: Promise<JWTVerifyGetKey> | null = null
  #loadedAtMs = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, issuer: string, foreign: readonly IssuerSettings[]) {
    this.#pool = pool
    this.#issuer = issuer
    this.#foreign = new Map(foreign.map((settings) => [settings.issuer, new ForeignIssuer(settings, pool)]))
  }

  /**
   * `null` for any token that is not a valid one of control or of a configured issuer.
   *
   * @throws ApiError 503 if that issuer's keys cannot be fetched
   */
  async verify(token: string): Promise<JwtClaims | null> {
    if (token.length > MAX_CHARS) return null
    try {
      const foreign = this.#foreign.get(decodeJwt(token).iss ?? '')
      return foreign === undefined ? await this.#verifyOwn(token) : await verifyForeign(token, foreign)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey && this.#mayReload()) {
        this.#keys = null
        return this.verify(token)
      }
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  async #verifyOwn(token: string): Promise<JwtClaims | null> {
    this.#keys ??= this.#load()
    const keys = await this.#keys.catch((error: unknown) => {
      this.#keys = null
      throw error
    })
    const payload = await verifiedPayload(token, keys, this.#issuer, AUDIENCE)
    if (payload?.sub === undefined) return null
    const { sub: userId, org, sid, iat = 0, exp = 0 } = payload
    const narrowed = narrowing.safeParse(payload)
    // A restriction that control does not understand must not count as none.
    if (!narrowed.success) return null
    const { only_org: onlyWorkspaceId, scope: scopes } = narrowed.data
    return {
      userId,
      workspaceId: typeof org === 'string' ? org : null,
      onlyWorkspaceId,
      scopes,
      sessionId: typeof sid === 'string' ? sid : null,
      issuedAt: iat,
      expiresAt: exp,
      provenAt: null,
    }
  }

  #mayReload(): boolean {
    return performance.now() - this.#loadedAtMs > RELOAD_MS
  }

  async #load(): Promise<JWTVerifyGetKey> {
    this.#loadedAtMs = performance.now()
    const rows = await signingKeys(this.#pool)
    return createLocalJWKSet({
      keys: rows.map((row): JWK => ({ ...JSON.parse(row.publicKey), kid: row.id, alg: row.alg ?? 'EdDSA' })),
    })
  }
}

async function verifyForeign(token: string, issuer: ForeignIssuer): Promise<JwtClaims | null> {
  const payload = await verifiedPayload(token, issuer.key, issuer.issuer, issuer.audience)
  const userId = payload?.sub === undefined ? null : await issuer.userOf(payload)
  if (userId === null) return null
  const { exp: expiresAt = 0, iat = null, auth_time: authTime } = payload ?? {}
  // The issuer's `scope` speaks of the issuer's own services.
  return {
    userId,
    workspaceId: null,
    onlyWorkspaceId: null,
    scopes: null,
    sessionId: null,
    issuedAt: null,
    expiresAt,
    provenAt: typeof authTime === 'number' ? authTime : iat,
  }
}

/** `null` for a token that was issued in the future. The library checks only `nbf` and `exp`. */
async function verifiedPayload(
  token: string,
  keys: JWTVerifyGetKey,
  issuer: string,
  audience: string,
): Promise<JWTPayload | null> {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_TOLERANCE_S,
  })
  const isFromFuture = payload.iat !== undefined && payload.iat > Date.now() / 1000 + CLOCK_TOLERANCE_S
  return isFromFuture ? null : payload
}
