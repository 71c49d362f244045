import { isHopByHop, namedByConnection } from './hop-by-hop.ts'

const DOMAIN = /;\s*domain\s*=[^;]*/gi

/**
 * What a visitor is answered: the server's headers as they came, but for those of its connection. Names and values
 * alternate. A cookie is for the sandbox's own host only: with a `Domain` it would reach every other sandbox.
 */
export function responseHeaders(raw: readonly (Buffer | string)[]): string[] {
  const headers: string[] = []
  const connection = namedByConnection(connectionOf(raw))
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = String(raw[at])
    const lower = name.toLowerCase()
    if (isHopByHop(lower, connection)) continue
    const value = textOf(raw[at + 1])
    headers.push(name, lower === 'set-cookie' ? value.replace(DOMAIN, '') : value)
  }
  return headers
}

/** As HTTP/2 wants them: lower case, each name once. */
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

function connectionOf(raw: readonly (Buffer | string)[]): string | undefined {
  const values: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (String(raw[at]).toLowerCase() === 'connection') values.push(textOf(raw[at + 1]))
  }
  return values.length === 0 ? undefined : values.join(',')
}

/** Bytes stay the bytes they are (RFC 9110, 5.5, obs-text). */
function textOf(value: Buffer | string | undefined): string {
  return typeof value === 'string' ? value : (value?.toString('latin1') ?? '')
}
