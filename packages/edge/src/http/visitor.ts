import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { TLSSocket } from 'node:tls'

/** A request in HTTP/1.1 or HTTP/2. */
export type VisitorRequest = IncomingMessage | Http2ServerRequest
export type VisitorResponse = ServerResponse

/** Node's HTTP/2 responses have all the HTTP/1.1 members that the edge uses. */
export function asVisitorResponse(response: Http2ServerResponse): VisitorResponse {
  return response as unknown as VisitorResponse
}

export function isHttp2(request: VisitorRequest): request is Http2ServerRequest {
  return request.httpVersionMajor === 2
}

export function schemeOf({ socket }: VisitorRequest): 'http' | 'https' {
  return (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'
}

/** Scheme, host and port as the visitor sees them, in lower case. */
export function originOf(request: VisitorRequest, host: string, trustsForwarded: boolean): string {
  const given = trustsForwarded ? request.headers['x-forwarded-proto'] : undefined
  return `${given === 'http' || given === 'https' ? given : schemeOf(request)}://${host.toLowerCase()}`
}

/** Aborts an answer, so that the visitor notices that it is incomplete. */
export function breakOff(request: VisitorRequest, response: VisitorResponse): void {
  if (isHttp2(request)) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

/** The requested host; `null` if the request names none, or two. */
export function hostOf(request: VisitorRequest): string | null {
  if (isHttp2(request)) {
    const { authority } = request
    const { host } = request.headers
    if (authority !== '' && host !== undefined && host !== authority) return null
    return authority === '' ? (host ?? null) : authority
  }
  return onlyHost(request)
}

/**
 * Node returns the first of several Host headers. A server inside could read another one (RFC 9112, 3.2), so both are
 * refused.
 */
function onlyHost({ rawHeaders }: IncomingMessage): string | null {
  let found: string | null = null
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name === undefined || name.length !== 4 || name.toLowerCase() !== 'host') continue
    if (found !== null) return null
    found = rawHeaders[at + 1] ?? null
  }
  return found
}

/** Path and query; `null` if the target names another host than the request (RFC 9112, 3.2.2). */
export function targetOf({ url = '', method }: VisitorRequest, host: string): string | null {
  if (url.startsWith('/')) return url
  if (url === '*' && method === 'OPTIONS') return url
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url)
  if (absolute?.[1]?.toLowerCase() !== host.toLowerCase()) return null
  const rest = url.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Whether a body follows the head, of any length. */
export function hasBody(request: VisitorRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders
  const { headers } = request
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
