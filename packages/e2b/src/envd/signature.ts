import { createHash, timingSafeEqual } from 'node:crypto'

interface Signed {
  readonly path: string
  readonly operation: 'read' | 'write'
  /** Empty if the address names none. */
  readonly user: string
  /** Access token of the sandbox. */
  readonly token: string
}

/**
 * Whether the query of a file's address is signed with the sandbox's access token; `expired` if its time has passed.
 *
 * @param nowMs since 1970
 */
export function verifySignature(
  { path, operation, user, token }: Signed,
  query: URLSearchParams,
  nowMs: number,
): 'valid' | 'invalid' | 'expired' {
  const expiration = query.get('signature_expiration')
  const parts = [path, operation, user, token, ...(expiration === null ? [] : [expiration])]
  const digest = createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')
  const expected = Buffer.from(`v1_${digest}`)
  const given = Buffer.from(query.get('signature') ?? '')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'invalid'
  if (expiration === null) return 'valid'
  return /^\d{1,12}$/.test(expiration) && Number(expiration) * 1000 > nowMs ? 'valid' : 'expired'
}
