import { createHash, randomBytes } from 'node:crypto'
import { LINK_TOKEN } from '@offshoot/contract/preview-access'

/** 256 random bits, so that a fast hash suffices. */
const TOKEN = new RegExp(`^${LINK_TOKEN}[A-Za-z0-9_-]{43}$`)

/** The token of a new link. It is shown once; only its hash is stored. */
export function mintLinkToken(): { readonly token: string; readonly hash: Buffer } {
  const token = `${LINK_TOKEN}${randomBytes(32).toString('base64url')}`
  return { token, hash: hashOf(token) }
}

/** `null` if the text is no token of a link. */
export function linkTokenHash(text: string): Buffer | null {
  return TOKEN.test(text) ? hashOf(text) : null
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
