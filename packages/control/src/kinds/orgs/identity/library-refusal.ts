import { STATUS_CODES } from 'node:http'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from './password-length.ts'

/** The API's own texts for the library's errors, by the library's code or message. */
const SAID: Readonly<Record<string, string>> = {
  PASSWORD_TOO_SHORT: `password must be at least ${MIN_PASSWORD_CHARS} characters`,
  PASSWORD_TOO_LONG: `password must be at most ${MAX_PASSWORD_CHARS} characters`,
  'Invalid JSON in request body': 'invalid json',
}

/** `[body.name] Invalid input: expected string, received undefined`; several are separated by `; `. */
const FIELD = /\[body\.(\w+)\] (?:Invalid input: )?([^;]+)/g

/**
 * Formats a refusal of the accounts library: flat, with `error` like every API error, and with the `message` that the
 * library's clients show.
 */
export function libraryRefusal(text: string, status: number): { error: string; message: string } {
  const { message, code } = parse(text)
  const said =
    SAID[code] ??
    SAID[message] ??
    (message.replaceAll(FIELD, fieldRefusal) || (STATUS_CODES[status] ?? 'refused').toLowerCase())
  return { error: said, message: said }
}

function fieldRefusal(_all: string, field: string, problem: string): string {
  return problem.endsWith('received undefined') ? `${field} required` : `${field}: ${problem}`
}

function parse(text: string): { message: string; code: string } {
  try {
    const { message, code } = JSON.parse(text) as Record<string, unknown>
    return { message: typeof message === 'string' ? message : '', code: typeof code === 'string' ? code : '' }
  } catch {
    return { message: '', code: '' }
  }
}
