import { createHash, randomInt, timingSafeEqual } from 'node:crypto'

/** `ofs_`, 8 public characters, `_`, then 32 secret characters (about 190 bits). */
const API_KEY = /^(ofs_[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/
/** The form of E2B's keys. */
const E2B_FORM = /^e2b_((?:[0-9a-f]{2})+)$/
const PREFIX = /^ofs_[0-9A-Za-z]{8}$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export interface MintedApiKey {
  /** The whole key. It is shown once and not stored. */
  readonly key: string
  /** Identifies the key in places where the secret must not appear. */
  readonly prefix: string
  readonly hash: Buffer
}

/** @param start the text before the first `_`-separated random part */
export function mintApiKey(start = 'ofs'): MintedApiKey {
  const prefix = `${start}_${randomText(8)}`
  const key = `${prefix}_${randomText(32)}`
  return { key, prefix, hash: hashApiKey(key) }
}

/** The public prefix of a token with the form of an API key; `null` for any other token. */
export function apiKeyPrefix(token: string): string | null {
  return API_KEY.exec(token)?.[1] ?? null
}

export function isApiKeyPrefix(text: string): boolean {
  return PREFIX.test(text)
}

/**
 * The key that `e2b_` and hexadecimal digits stand for: clients of E2B take keys only in that form. The digits are the
 * bytes of the key's own text. Any other text is returned as it is.
 */
export function ownForm(token: string): string {
  const digits = E2B_FORM.exec(token)?.[1]
  return digits === undefined ? token : Buffer.from(digits, 'hex').toString('latin1')
}

/** Compares in constant time. */
export function matchesHash(key: string, hash: Buffer): boolean {
  const actual = hashApiKey(key)
  return actual.length === hash.length && timingSafeEqual(actual, hash)
}

/** A fast hash suffices: the secret is random and long, so dictionary attacks are impossible. */
function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')
}
