import { ApiError } from '@offshoot/contract/errors'

/** Linux's PATH_MAX without its NUL. */
const MAX_PATH_BYTES = 4095
const SLASH = 0x2f

/**
 * Reads an absolute path from a request's raw query, as bytes: Linux paths have no encoding, and a parser that decodes to
 * text would lose bytes that are not UTF-8. `+` means a space, as in every form-encoded query (URLSearchParams, Python's
 * urlencode and Go's url.Values write spaces so). All of them write a plus as `%2B`.
 * @throws ApiError 400 naming the parameter
 */
export function parseQueryPath(url: string, name = 'path'): Buffer {
  const [value, ...others] = valuesOf(url, name)
  if (value === undefined || value === '') throw refused(`${name} required`)
  if (others.length > 0) throw refused(`${name} must be given once`)
  if (/%(?![0-9a-f]{2})/i.test(value)) throw refused(`${name} must be percent-encoded`)
  const path = decode(value)
  if (path[0] !== SLASH) throw refused(`${name} must be absolute`)
  if (path.includes(0)) throw refused(`${name} must not contain NUL`)
  if (path.length > MAX_PATH_BYTES) throw refused(`${name} must be at most ${MAX_PATH_BYTES} bytes`)
  return path
}

function valuesOf(url: string, name: string): string[] {
  const at = url.indexOf('?')
  if (at === -1) return []
  return url
    .slice(at + 1)
    .split('&')
    .map((part) => splitOnce(part))
    .filter(([key]) => decode(key).toString() === name)
    .map(([, value]) => value)
}

function splitOnce(part: string): [string, string] {
  const at = part.indexOf('=')
  return at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}

/** Node gives the request line as Latin-1: one character is one byte. */
function decode(text: string): Buffer {
  const bytes = text
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

function refused(error: string): ApiError {
  return new ApiError('invalidField', { error })
}
