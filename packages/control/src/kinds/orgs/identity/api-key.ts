import { createHash, randomInt, timingSafeEqual } from 'node:crypto'

/** `ofs_` + 8 characters, public + `_` + 32 characters, secret (about 190 bits). */
const API_KEY = /^(ofs_[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/
const PREFIX = /^ofs_[0-9A-Za-z]{8}$/
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export interface MintedApiKey {
  /** The whole key; shown once, kept nowhere. */
  readonly key: string
  /** Names the key where the secret must not show. */
  readonly prefix: string
  readonly hash: Buffer
}

export function mintApiKey(): MintedApiKey {
  const prefix = `ofs_${randomText(8)}`
  const key = `${prefix}_${randomText(32)}`
  return { key, prefix, hash: hashApiKey(key) }
}

/** The public part of what looks like an API key; `null` for anything else. */
export function apiKeyPrefix(token: string): string | null {
  return API_KEY.exec(token)?.[1] ?? null
}

export function isApiKeyPrefix(text: string): boolean {
  return PREFIX.test(text)
}

/** Takes the same time wherever the hashes differ. */
export function matchesHash(key: string, hash: Buffer): boolean {
  const actual = hashApiKey(key)
  return actual.length === hash.length && timingSafeEqual(actual, hash)
}

/** SHA-256 suffices: the secret is random and long, so there is no dictionary to slow down. */
function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')
}
