import { z } from 'zod'
import { optional } from './fields.ts'
import { shownAsInteger } from './query-fields.ts'
import { signalName } from './signal.ts'

/** Bytes of a background command that are shown. */
export const SHOWN_CMD_BYTES = 110

/** Answer of `POST exec` with `background`: the command has started. */
export const backgroundStarted = z.object({
  /** Process id inside the sandbox; also its process group. */
  pid: z.int(),
  exec_id: z.string(),
})
export type BackgroundStarted = z.infer<typeof backgroundStarted>

/** A background command. It outlives every connection, and every service; 64 of them are kept, ended ones too. */
export const backgroundExec = z.object({
  exec_id: z.string(),
  pid: z.int(),
  /** At most its first {@link SHOWN_CMD_BYTES} bytes. */
  cmd: z.string(),
  status: z.enum(['running', 'exited']),
  /** 128 + signal when a signal ended it; `null` while it runs. */
  exit_code: z.int().nullable(),
  /** By the sandbox's clock. */
  started_at: z.string(),
  ended_at: z.string().nullable(),
  /** When its process group is killed, by the agent's clock (`timeout_seconds`); `null`: never. */
  timeout_at: z.string().nullable(),
  /** Bytes written so far, both streams together; offsets count in these. */
  output_bytes: z.int(),
  /** Offset of the oldest byte that is kept: 1 MiB is, the oldest goes first. */
  oldest_offset: z.int(),
})
export type BackgroundExec = z.infer<typeof backgroundExec>

/** What 15 digits can say. */
const MAX_OFFSET = 999_999_999_999_999

/** Query of `GET …/execs/{exec_id}/stream`; `Last-Event-ID` says the same, and wins. */
export const followQuery = z.object({
  /** Of the first byte wanted; the oldest kept by default. */
  offset: optional(
    z
      .string({ error: 'offset must be given once' })
      .regex(/^\d{1,15}$/, 'offset must be an integer >= 0')
      .meta(shownAsInteger(0, MAX_OFFSET))
      .transform(Number),
  ),
})

export const signalBody = z.object({ signal: signalName })
