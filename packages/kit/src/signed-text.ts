import { createHmac, timingSafeEqual } from 'node:crypto'

const SIGNED = /^(.*)_([\w-]{43})$/s

/** The text, `_`, and its HMAC-SHA256 in base64url. */
export function signText(secret: Buffer, text: string): string {
  return `${text}_${signatureOf(secret, text).toString('base64url')}`
}

/** The text, if the secret signed it; `null` for any other input. Compares in constant time. */
export function verifySignedText(secret: Buffer, signed: string): string | null {
  const [, text = '', signature = ''] = SIGNED.exec(signed) ?? []
  const given = Buffer.from(signature, 'base64url')
  const expected = signatureOf(secret, text)
  // The last character has two bits that the bytes do not show.
  const isExact = given.length === expected.length && given.toString('base64url') === signature
  return isExact && timingSafeEqual(given, expected) ? text : null
}

function signatureOf(secret: Buffer, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}
