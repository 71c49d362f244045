/** Credentials of Offshoot's own. No sandbox may see them: neither those for private previews nor the API's. */
import { PREVIEW_TOKEN_QUERY } from '@offshoot/contract/preview-access'

/** API keys and broker tokens (`Authorization: Bearer ofs_…`, with any scheme). */
const OWN_TOKEN = /^\s*\S+\s+ofs_/i
const OWN_TOKEN_IN_QUERY = new RegExp(`^(?:access_token=ofs_|${PREVIEW_TOKEN_QUERY}=)`, 'i')
const OWN_AUDIENCE = 'offshoot'
/** Session cookies of user accounts. */
const OWN_COOKIE = /^(__Secure-|__Host-)?(better-auth|offshoot)[._-]/i

export function isOwnAuthorization(value: string): boolean {
  return OWN_TOKEN.test(value) || isOwnJwt(value)
}

/** Recognizes control's tokens by their audience (`packages/control/src/kinds/orgs/identity/accounts.ts`). */
function isOwnJwt(value: string): boolean {
  const payload = /^\s*bearer\s+[\w-]+\.([\w-]+)\.[\w-]+\s*$/i.exec(value)?.[1]
  if (payload === undefined) return false
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return (
      typeof claims === 'object' && claims !== null && 'aud' in claims && [claims.aud].flat().includes(OWN_AUDIENCE)
    )
  } catch {
    return false
  }
}

/** The header without Offshoot's cookies; `null` if none is left. */
export function withoutOwnCookies(value: string): string | null {
  if (!/better-auth|offshoot/i.test(value)) return value
  const others = value.split(';').filter((cookie) => !OWN_COOKIE.test(cookie.trim()))
  return others.length === 0 ? null : others.join(';').trim()
}

/** Whether a `Set-Cookie` of a server inside would replace a cookie of Offshoot's own. */
export function setsOwnCookie(value: string): boolean {
  return OWN_COOKIE.test(value.trimStart())
}

/** A request target, or a whole address, without Offshoot's tokens in the query. */
export function withoutOwnToken(target: string): string {
  const at = target.indexOf('?')
  if (at === -1 || !(target.includes('ofs_', at) || target.includes(PREVIEW_TOKEN_QUERY, at))) return target
  const kept = target
    .slice(at + 1)
    .split('&')
    .filter((field) => !OWN_TOKEN_IN_QUERY.test(field))
  return kept.length === 0 ? target.slice(0, at) : `${target.slice(0, at)}?${kept.join('&')}`
}
