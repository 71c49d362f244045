import { PREVIEW_TOKEN_HEADER } from '@offshoot/contract/preview-access'
import { traceHeaders } from '@offshoot/kit/otlp/telemetry'
import { isHopByHop, namedByConnection } from './hop-by-hop.ts'
import { isOwnAuthorization, withoutOwnCookies, withoutOwnToken } from './own-credentials.ts'
import { REQUEST_ID, requestIdOf } from '../http/request-id.ts'
import { isHttp2, schemeOf, type VisitorRequest } from '../http/visitor.ts'

/** Headers that the edge sets itself, answers itself (`expect`), or hides from the server inside. */
const REPLACED = new Set([
  'expect',
  'forwarded',
  'host',
  PREVIEW_TOKEN_HEADER,
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-offshoot-org',
  'x-real-ip',
  REQUEST_ID,
])

/** The edge replaces these only if it makes spans itself. */
const TRACE_CONTEXT = new Set(['traceparent', 'tracestate'])

/**
 * Builds the headers for the server inside: the visitor's, without hop-by-hop headers, Offshoot's credentials, and
 * headers that only a proxy may set. Names and values alternate.
 */
export function requestHeaders(request: VisitorRequest, host: string, trustsForwarded: boolean): string[] {
  const headers: string[] = ['host', host]
  const trace = traceHeaders()
  const connection = namedByConnection(request.headers.connection)
  for (const [name, value] of fieldsOf(request)) {
    const lower = name.toLowerCase()
    if (REPLACED.has(lower) || isHopByHop(lower, connection)) continue
    if (trace !== undefined && TRACE_CONTEXT.has(lower)) continue
    const kept = withoutOurs(lower, value)
    if (kept !== null) headers.push(name, kept)
  }
  const given = trustsForwarded ? request.headers : {}
  const address = request.socket.remoteAddress ?? 'unknown'
  const before = given['x-forwarded-for']
  headers.push('x-forwarded-for', before === undefined ? address : `${String(before)}, ${address}`)
  headers.push('x-forwarded-host', host)
  headers.push('x-forwarded-proto', String(given['x-forwarded-proto'] ?? schemeOf(request)))
  headers.push(REQUEST_ID, requestIdOf(request), ...Object.entries(trace ?? {}).flat())
  return headers
}

function withoutOurs(name: string, value: string): string | null {
  if (name === 'authorization') return isOwnAuthorization(value) ? null : value
  if (name === 'referer') return withoutOwnToken(value)
  return name === 'cookie' ? withoutOwnCookies(value) : value
}

/** HTTP/1.1: as received, repeated ones too. HTTP/2: joined as RFC 9113 requires (8.2.3), without pseudo-headers. */
function* fieldsOf(request: VisitorRequest): Generator<[string, string]> {
  if (!isHttp2(request)) {
    const { rawHeaders } = request
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at] as string, rawHeaders[at + 1] as string]
    return
  }
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const each of [value].flat()) yield [name, each]
  }
}
