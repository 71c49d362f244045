import { z } from 'zod'
import { encoding, isEncoded, queryEncoding } from './encoding.ts'
import { flag, oneRequired, optional, text } from './fields.ts'
import { queryInteger, shownAsInteger } from './query-fields.ts'
import { signalName } from './signal.ts'
import { terminalSize } from './terminal.ts'

/** Maximum bytes of the command text in a listing. */
export const SHOWN_CMD_BYTES = 1000

/** Answer of `POST exec` with `background`: the command has started. */
export const backgroundStarted = z.object({
  /** Process id inside the sandbox, and id of its process group. */
  pid: z.int(),
  exec_id: z.string(),
})
export type BackgroundStarted = z.infer<typeof backgroundStarted>

/**
 * A background command. It survives disconnects and restarts of every service. A sandbox keeps at most 1024, ended ones
 * included. A new one replaces the one that ended first.
 */
export const backgroundExec = z.object({
  exec_id: z.string(),
  pid: z.int(),
  /** At most the first {@link SHOWN_CMD_BYTES} bytes. Of `argv`: its entries, quoted for a shell. */
  cmd: z.string(),
  /** Whether it has a terminal (`pty`). */
  is_pty: z.boolean(),
  status: z.enum(['running', 'exited']),
  /** 128 + signal if a signal ended it; `null` while it runs. */
  exit_code: z.int().nullable(),
  /** RFC 3339, by the sandbox's clock. */
  started_at: z.string(),
  ended_at: z.string().nullable(),
  /** When the agent kills the process group (`timeout_seconds`), by the agent's clock; `null` without a timeout. */
  timeout_at: z.string().nullable(),
  /** Bytes that the command has written to both streams. Offsets count these bytes. */
  output_bytes: z.int(),
  /** Offset of the oldest byte kept. The guest keeps the last 1 MiB, less if all commands have 64 MiB. */
  oldest_offset: z.int(),
})
export type BackgroundExec = z.infer<typeof backgroundExec>

/** The largest offset of 15 digits, which a JavaScript number holds exactly. */
const MAX_OFFSET = 999_999_999_999_999

/** Query of `GET …/execs/{exec_id}/stream`. A `Last-Event-ID` header takes precedence over `offset`. */
export const followQuery = z.object({
  /** Offset of the first byte to send. Default: the oldest byte kept. */
  offset: optional(
    z
      .string({ error: 'offset must be given once' })
      .regex(/^\d{1,15}$/, 'offset must be an integer >= 0')
      .meta(shownAsInteger(0, MAX_OFFSET))
      .transform(Number),
  ),
  encoding: queryEncoding,
})

/** Body of `POST …/execs/{exec_id}/signal`. */
export const signalBody = z.object({ signal: signalName })

/** Characters of `stdin` in one request. */
const MAX_STDIN_CHARS = 8 * 1024 * 1024

/** Body of `POST …/execs/{exec_id}/stdin`. `eof` closes the standard input after `stdin`. */
export const stdinBody = z
  .object({ stdin: optional(text('stdin', MAX_STDIN_CHARS)), encoding, eof: optional(flag('eof')) })
  .check(({ value, issues }) => {
    const refuse = (message: string) => issues.push({ code: 'custom', message, input: value })
    if (value.stdin === undefined && value.eof !== true) refuse('stdin or eof required')
    else if (!isEncoded(value.stdin ?? '', value.encoding)) refuse('stdin must be base64')
  })
  .meta(oneRequired('stdin', 'eof'))

/** Body of `POST …/execs/{exec_id}/resize`. */
export const resizeBody = terminalSize('the body')

/** Seconds that `GET …/execs/{exec_id}/wait` waits at most, and by default. */
const MAX_WAIT_SECONDS = 300
const DEFAULT_WAIT_SECONDS = 60

/** Query of `GET …/execs/{exec_id}/wait`. */
export const waitQuery = z.object({
  timeout_seconds: queryInteger('timeout_seconds', 1, MAX_WAIT_SECONDS).default(DEFAULT_WAIT_SECONDS),
})
