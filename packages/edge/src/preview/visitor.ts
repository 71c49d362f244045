import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { TLSSocket } from 'node:tls'

/** A request of either protocol. */
export type VisitorRequest = IncomingMessage | Http2ServerRequest
export type VisitorResponse = ServerResponse

/** Node's HTTP/2 answers as those of HTTP/1.1 do, in all that we use of them. */
export function asVisitorResponse(response: Http2ServerResponse): VisitorResponse {
  return response as unknown as VisitorResponse
}

export function isHttp2(request: VisitorRequest): request is Http2ServerRequest {
  return request.httpVersionMajor === 2
}

export function schemeOf({ socket }: VisitorRequest): 'http' | 'https' {
  return (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'
}

/** Ends an answer that was begun so that its visitor sees that it is not whole. */
export function breakOff(request: VisitorRequest, response: VisitorResponse): void {
  if (isHttp2(request)) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

/** The host that is meant, once; `null` when the request says none, or two. */
export function hostOf(request: VisitorRequest): string | null {
  if (isHttp2(request)) {
    const { authority } = request
    const { host } = request.headers
    if (authority !== '' && host !== undefined && host !== authority) return null
    return authority === '' ? (host ?? null) : authority
  }
  return onlyHost(request)
}

/** Node gives the first of several; a proxy that reads another one than its server does can be led astray (RFC 9112, 3.2). */
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

/** Path and query; `null` for a target that names another host than the request does (RFC 9112, 3.2.2). */
export function targetOf({ url = '', method }: VisitorRequest, host: string): string | null {
  if (url.startsWith('/')) return url
  if (url === '*' && method === 'OPTIONS') return url
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url)
  if (absolute?.[1]?.toLowerCase() !== host.toLowerCase()) return null
  const rest = url.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Whether bytes follow the head, however many. */
export function hasBody(request: VisitorRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders
  const { headers } = request
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
