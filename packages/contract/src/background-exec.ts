import { z } from 'zod'
import { optional } from './fields.ts'
import { shownAsInteger } from './query-fields.ts'
import { signalName } from './signal.ts'

/** Maximum bytes of the command text in a listing. */
export const SHOWN_CMD_BYTES = 110

/** Answer of `POST exec` with `background`: the command has started. */
export const backgroundStarted = z.object({
  /** Process id inside the sandbox, and id of its process group. */
  pid: z.int(),
  exec_id: z.string(),
})
export type BackgroundStarted = z.infer<typeof backgroundStarted>

/**
 * A background command. It survives disconnects and restarts of every service. A sandbox keeps at most 64, ended ones
 * included.
 */
export const backgroundExec = z.object({
  exec_id: z.string(),
  pid: z.int(),
  /** At most the first {@link SHOWN_CMD_BYTES} bytes. */
  cmd: z.string(),
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
  /** Offset of the oldest byte kept. The guest keeps the last 1 MiB. */
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
})

/** Body of `POST …/execs/{exec_id}/signal`. */
export const signalBody = z.object({ signal: signalName })
