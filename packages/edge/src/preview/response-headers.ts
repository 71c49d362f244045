import { isHopByHop, namedByConnection } from './hop-by-hop.ts'
import { setsOwnCookie } from './own-credentials.ts'
import { REQUEST_ID } from '../http/request-id.ts'

const CONNECTION = 'connection'
const DOMAIN = /;\s*domain\s*=[^;]*/gi

/**
 * Builds the headers for the visitor: the server's, without hop-by-hop headers, and with one request id. Names and
 * values alternate. A cookie loses its `Domain`, which would send it to every other sandbox.
 */
export function responseHeaders(raw: readonly (Buffer | string)[], requestId: string): string[] {
  return [...passedOn(raw), REQUEST_ID, requestId]
}

/** The same for trailers. */
export function responseTrailers(raw: readonly (Buffer | string)[]): string[] {
  return passedOn(raw)
}

function passedOn(raw: readonly (Buffer | string)[]): string[] {
  const fields = raw.map(textOf)
  const headers: string[] = []
  const connection = namedByConnection(connectionOf(fields))
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string
    const value = fields[at + 1] as string
    const lower = name.toLowerCase()
    if (lower === REQUEST_ID || isHopByHop(lower, connection)) continue
    if (lower === 'set-cookie' && setsOwnCookie(value)) continue
    headers.push(name, lower === 'set-cookie' ? value.replace(DOMAIN, '') : value)
  }
  return headers
}

/** In the form for HTTP/2: lower case, each name once. */
export function asFields(headers: readonly string[]): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {}
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase()
    const value = headers[at + 1] as string
    const before = fields[name]
    fields[name] = before === undefined ? value : [before, value].flat()
  }
  return fields
}

function connectionOf(fields: readonly string[]): string | undefined {
  let found: string | undefined
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string
    if (name.length !== CONNECTION.length || name.toLowerCase() !== CONNECTION) continue
    const value = fields[at + 1] as string
    found = found === undefined ? value : `${found},${value}`
  }
  return found
}

/** Keeps every byte value (RFC 9110, 5.5, obs-text). */
function textOf(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1')
}
