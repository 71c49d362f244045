import { PREVIEW_COOKIE, PREVIEW_TOKEN_HEADER, PREVIEW_TOKEN_QUERY } from '@offshoot/contract/preview-access'
import type { VisitorRequest } from '../http/visitor.ts'

/** Cookies of one name to try. Another host of the same domain may have set one, unless the name begins with `__Host-`. */
const MAX_COOKIES = 4
/** The cookie that binds a member's way over control to this browser. */
const STATE_COOKIE = 'offshoot-preview-state'
const STATE = /^[A-Za-z0-9_-]{43}$/
/** Longer values are none of ours. */
const MAX_CHARS = 2_048

export interface PresentedCredentials {
  /** From the header or the query. */
  readonly tokens: readonly string[]
  /** In the query, where a link has it; `null` if there is none. */
  readonly inQuery: string | null
  /** Values of the edge's cookie. */
  readonly passes: readonly string[]
}

/** @param target with its query, as the visitor sent it */
export function presentedCredentials(
  { headers }: VisitorRequest,
  target: string,
  isSecure: boolean,
): PresentedCredentials {
  const at = target.indexOf('?')
  const inQuery = at === -1 ? null : new URLSearchParams(target.slice(at)).get(PREVIEW_TOKEN_QUERY)
  const inHeader = [headers[PREVIEW_TOKEN_HEADER] ?? []].flat()
  const tokens = [...inHeader, ...(inQuery === null ? [] : [inQuery])].filter(isPossible)
  const passes = cookies(headers.cookie, nameOf(PREVIEW_COOKIE, isSecure)).filter(isPossible).slice(0, MAX_COOKIES)
  return { tokens, inQuery: inQuery !== null && isPossible(inQuery) ? inQuery : null, passes }
}

/** The browser's state for a way over control; `null` if it has none yet. */
export function presentedState({ headers }: VisitorRequest, isSecure: boolean): string | null {
  return cookies(headers.cookie, nameOf(STATE_COOKIE, isSecure)).find((value) => STATE.test(value)) ?? null
}

export function passCookie(pass: string, maxAgeSeconds: number, isSecure: boolean): string {
  return cookie(nameOf(PREVIEW_COOKIE, isSecure), pass, maxAgeSeconds, isSecure)
}

export function stateCookie(state: string, maxAgeSeconds: number, isSecure: boolean): string {
  return cookie(nameOf(STATE_COOKIE, isSecure), state, maxAgeSeconds, isSecure)
}

/** Browsers accept the prefix only with TLS. It proves that no other host has set the cookie (RFC 6265bis, 4.1.3.2). */
function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name
}

/** No `Domain`: the cookie is for this host only. */
function cookie(name: string, value: string, maxAgeSeconds: number, isSecure: boolean): string {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return `${name}=${value}; ${attributes}`
}

function cookies(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  const start = `${name}=`
  return header.split(';').flatMap((each) => {
    const pair = each.trim()
    return pair.startsWith(start) ? [pair.slice(start.length)] : []
  })
}

function isPossible(text: string): boolean {
  return text !== '' && text.length <= MAX_CHARS
}
