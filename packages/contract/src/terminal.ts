import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { shownAsInteger } from './query-fields.ts'

/** Maximum rows or columns; programs handle this size. */
const MAX_CHARACTERS = 1000
const DEFAULT_ROWS = 24
const DEFAULT_COLS = 80
/** The guest adds a prefix and limits the result to 64 bytes. */
const SESSION = /^[A-Za-z0-9._-]{1,48}$/

const sizeText = (name: string, byDefault: number) =>
  z
    .string({ error: `${name} must be given once` })
    .regex(/^\d{1,9}$/, `${name} must be an integer`)
    .meta(shownAsInteger(1, MAX_CHARACTERS))
    .transform(Number)
    .refine((size) => size >= 1, `${name} must be >= 1`)
    .refine((size) => size <= MAX_CHARACTERS, `${name} must be <= ${MAX_CHARACTERS}`)
    .default(byDefault)

/** Query of `GET exec/pty`. */
export const terminalQuery = z.object({
  rows: sizeText('rows', DEFAULT_ROWS),
  cols: sizeText('cols', DEFAULT_COLS),
  /** Runs under `sh -c` on the terminal. If absent or empty: a login shell. */
  cmd: optional(text('cmd', 16_384)),
  /** User name or numeric id. Default: `root`. */
  user: optional(text('user', 64)),
  /** Absolute path. Default: the user's home. */
  cwd: optional(text('cwd', 4095)),
  /** Name of a kept terminal. It survives disconnects; the next client of that name attaches to it. */
  session: optional(
    z.string({ error: 'session must be given once' }).regex(SESSION, 'session must match [A-Za-z0-9._-]{1,48}'),
  ),
})
export type TerminalQuery = z.infer<typeof terminalQuery>

/** The size of a terminal in JSON. */
export const terminalSize = (name: string) =>
  z.object(
    { rows: integer('rows', 1, MAX_CHARACTERS), cols: integer('cols', 1, MAX_CHARACTERS) },
    { error: `${name} must be an object of rows and cols` },
  )

/** A text frame from the client: one of the fields, or both. */
export const terminalFrame = z.object({
  resize: optional(terminalSize('resize')),
  stdin: optional(text('stdin', 1024 * 1024)),
})
