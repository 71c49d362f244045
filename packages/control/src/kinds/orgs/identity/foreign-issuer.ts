import { createHash } from 'node:crypto'
import type { IssuerSettings } from '@offshoot/contract/control-settings'
import { ApiError } from '@offshoot/contract/errors'
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { insertAccount, insertUser, lockSubject, userOfAccount, verifiedUser } from './foreign-user-statements.ts'

/** Milliseconds for an issuer to send its keys. */
const FETCH_TIMEOUT_MS = 5_000
/**
 * Milliseconds between two fetches because of an unknown key id, also if the first one failed. Without it, a caller with
 * invented ids could make control flood the issuer.
 */
const COOLDOWN_MS = 30_000
/** Milliseconds after which the keys are fetched again. */
const MAX_AGE_MS = 600_000
/** Users cached by their subject. Beyond that the oldest entries are dropped. */
const MAX_KEPT = 10_000
const ADDRESS = /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[^\s\p{Cc}<>()[\]\\,;:"@]{1,189}$/u

/** A configured external token issuer: its keys, and the mapping of its subjects to users. */
export class ForeignIssuer {
  readonly issuer: string
  readonly audience: string
  readonly #settings: IssuerSettings
  readonly #pool: pg.Pool
  readonly #keys: ReturnType<typeof createRemoteJWKSet>
  /** When the keys were last fetched because of an unknown key id, in milliseconds since 1970. */
  #askedAtMs = -Infinity
  readonly #users = new Map<string, string>()

  constructor(settings: IssuerSettings, pool: pg.Pool) {
    this.issuer = settings.issuer
    this.audience = settings.audience
    this.#settings = settings
    this.#pool = pool
    this.#keys = createRemoteJWKSet(new URL(settings.jwks_url), {
      timeoutDuration: FETCH_TIMEOUT_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: MAX_AGE_MS,
      [customFetch]: async (url, options) => {
        // Keys are known, so an unknown key id is the reason. The library's own pause begins with a fetch that succeeded.
        if (this.#keys.fresh) {
          if (Date.now() - this.#askedAtMs < COOLDOWN_MS) throw new Error('asked too recently')
          this.#askedAtMs = Date.now()
        }
        return fetch(url, options)
      },
    })
  }

  /**
   * @throws JWKSNoMatchingKey if the issuer has no such key, or none was known when its keys were last fetched and they
   *   cannot be fetched again
   * @throws ApiError 503 if no keys are known and they cannot be fetched
   */
  readonly key: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#keys(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      if (error instanceof errors.JOSENotSupported) throw error
      // Keys are known, and none of them has this id.
      if (this.#keys.fresh) throw new errors.JWKSNoMatchingKey()
      throw new ApiError('issuerUnreachable', {}, { cause: error })
    }
  }

  /**
   * The user of a verified token. The first token of a subject creates the user. `null` if another user has the
   * address.
   */
  async userOf(payload: JWTPayload): Promise<string | null> {
    const subject = payload.sub ?? ''
    const known = this.#users.get(subject)
    if (known !== undefined) return known
    const [account] = await userOfAccount(this.#pool, this.issuer, subject)
    const userId = account?.user_id ?? (await this.#makeUser(subject, payload))
    if (userId !== null) this.#keep(subject, userId)
    return userId
  }

  async #makeUser(subject: string, payload: JWTPayload): Promise<string | null> {
    const isBelieved = this.#settings.is_believed_about_email && payload.email_verified === true
    const email = emailOf(payload) ?? this.#placeholder(subject)
    return transaction(this.#pool, async (client) => {
      // Concurrent first tokens of a subject wait here, and then find the user that the first one created.
      await lockSubject(client, `${this.issuer}\n${subject}`)
      const [meanwhile] = await userOfAccount(client, this.issuer, subject)
      if (meanwhile !== undefined) return meanwhile.user_id
      const [made] = await insertUser(client, nameOf(payload), email, isBelieved)
      // Link the subject to an existing user only if that user's address is verified. An attacker may have signed up
      // with the address of somebody else and be waiting for its owner.
      const [same] = made === undefined && isBelieved ? await verifiedUser(client, email) : []
      const userId = made?.id ?? same?.id
      if (userId === undefined) return null
      await insertAccount(client, this.issuer, subject, userId)
      return userId
    })
  }

  /** An address for tokens without one. It receives no mail (RFC 6761). */
  #placeholder(subject: string): string {
    const hash = createHash('sha256').update(`${this.issuer}\n${subject}`).digest('hex').slice(0, 32)
    return `user-${hash}@issuer.invalid`
  }

  #keep(subject: string, userId: string): void {
    this.#users.set(subject, userId)
    if (this.#users.size > MAX_KEPT) this.#users.delete(this.#users.keys().next().value ?? subject)
  }
}

function emailOf({ email }: JWTPayload): string | null {
  return typeof email === 'string' && ADDRESS.test(email) ? email.toLowerCase() : null
}

function nameOf({ name }: JWTPayload): string {
  const text = typeof name === 'string' && name.isWellFormed() ? name.replaceAll(/\p{Cc}+/gu, ' ').trim() : ''
  return text.slice(0, 100) || 'User'
}
