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
 * Whether the query of a file's address is signed with the sandbox's access token, and its time has not passed.
 *
 * @param nowMs since 1970
 */
export function isSigned({ path, operation, user, token }: Signed, query: URLSearchParams, nowMs: number): boolean {
  const expiration = query.get('signature_expiration')
  const parts = [path, operation, user, token, ...(expiration === null ? [] : [expiration])]
  const digest = createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')
  const expected = Buffer.from(`v1_${digest}`)
  const given = Buffer.from(query.get('signature') ?? '')
  const isInTime = expiration === null || (/^\d{1,12}$/.test(expiration) && Number(expiration) * 1000 > nowMs)
  return isInTime && given.length === expected.length && timingSafeEqual(given, expected)
}
