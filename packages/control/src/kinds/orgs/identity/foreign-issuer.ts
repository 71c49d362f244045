import { createHash } from 'node:crypto'
import type { IssuerSettings } from '@offshoot/contract/control-settings'
import { ApiError } from '@offshoot/contract/errors'
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import type pg from 'pg'
import { transaction } from '../../../platform/db/transaction.ts'
import { insertAccount, insertUser, lockSubject, userOfAccount, verifiedUser } from './foreign-user-statements.ts'

/** Milliseconds an issuer has to send its keys. */
const FETCH_TIMEOUT_MS = 5_000
/** Milliseconds between two fetches for a key id that is not among them: whoever invents ids does not make us besiege the issuer. */
const COOLDOWN_MS = 30_000
/** Milliseconds after which keys are fetched anew. */
const MAX_AGE_MS = 600_000
/** Users known by their subject; those seen first go first. */
const MAX_KEPT = 10_000
const ADDRESS = /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[^\s\p{Cc}<>()[\]\\,;:"@]{1,189}$/u

/** An issuer of tokens that is not us, its keys, and who its subjects are here. */
export class ForeignIssuer {
  readonly issuer: string
  readonly audience: string
  readonly #settings: IssuerSettings
  readonly #pool: pg.Pool
  readonly #keys: JWTVerifyGetKey
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
    })
  }

  /** @throws ApiError 503 when the issuer's keys cannot be had */
  readonly key: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#keys(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      if (error instanceof errors.JOSENotSupported) throw error
      throw new ApiError('issuerUnreachable', {}, { cause: error })
    }
  }

  /** The user that a verified token speaks for, made when it is its first; `null` when the address is another's. */
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
      // Of several first tokens at once the later ones find what the first made.
      await lockSubject(client, `${this.issuer}\n${subject}`)
      const [meanwhile] = await userOfAccount(client, this.issuer, subject)
      if (meanwhile !== undefined) return meanwhile.user_id
      const [made] = await insertUser(client, nameOf(payload), email, isBelieved)
      // An address that nobody has confirmed to us may have been taken by somebody who waits for its owner.
      const [same] = made === undefined && isBelieved ? await verifiedUser(client, email) : []
      const userId = made?.id ?? same?.id
      if (userId === undefined) return null
      await insertAccount(client, this.issuer, subject, userId)
      return userId
    })
  }

  /** For a token without an address: one that gets no mail (RFC 6761). */
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
