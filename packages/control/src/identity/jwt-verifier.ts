import { createLocalJWKSet, errors, type JWK, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type pg from 'pg'
import { AUDIENCE } from './accounts.ts'
import { signingKeys } from './membership-statements.ts'

export interface JwtClaims {
  readonly userId: string
  /** Workspace the token was made for, if any; membership is checked anew with each request. */
  readonly workspaceId: string | null
}

/** Asymmetric only: with a symmetric algorithm whoever can verify could also sign. */
const ALGORITHMS = ['EdDSA', 'ES256', 'RS256']
/** Milliseconds between two looks at the database for a key id that is not among ours. */
const RELOAD_MS = 5_000
/** Seconds by which clocks may differ. */
const CLOCK_TOLERANCE_S = 5

/** Verifies tokens that the built-in accounts signed, with their public keys held in memory. */
export class JwtVerifier {
  readonly #pool: pg.Pool
  readonly #issuer: string
  #keys: Promise<JWTVerifyGetKey> | null = null
  #loadedAtMs = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, issuer: string) {
    this.#pool = pool
    this.#issuer = issuer
  }

  /** `null` for whatever is no valid token of ours. */
  async verify(token: string): Promise<JwtClaims | null> {
    try {
      return await this.#verify(token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey && this.#mayReload()) {
        this.#keys = null
        return this.verify(token)
      }
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  async #verify(token: string): Promise<JwtClaims | null> {
    this.#keys ??= this.#load()
    const keys = await this.#keys.catch((error: unknown) => {
      this.#keys = null
      throw error
    })
    const { payload } = await jwtVerify(token, keys, {
      issuer: this.#issuer,
      audience: AUDIENCE,
      algorithms: ALGORITHMS,
      requiredClaims: ['sub', 'exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
    })
    if (payload.sub === undefined) return null
    return { userId: payload.sub, workspaceId: typeof payload.org === 'string' ? payload.org : null }
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
