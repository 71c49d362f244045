import { STATUS_CODES } from 'node:http'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from './password-length.ts'

/** What the library says, in our words; by its codes, or its own. */
const SAID: Readonly<Record<string, string>> = {
  PASSWORD_TOO_SHORT: `password must be at least ${MIN_PASSWORD_CHARS} characters`,
  PASSWORD_TOO_LONG: `password must be at most ${MAX_PASSWORD_CHARS} characters`,
  'Invalid JSON in request body': 'invalid json',
}

/** `[body.name] Invalid input: expected string, received undefined`; several with `; ` between them. */
const FIELD = /\[body\.(\w+)\] (?:Invalid input: )?([^;]+)/g

/** A refusal of the accounts library: flat, with `error`, as all of ours are, and the `message` that the library's clients show. */
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
