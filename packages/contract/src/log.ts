import { z } from 'zod'
import { queryFlag, queryInteger } from './query-fields.ts'

/** Which of a command's outputs; the console counts as `stdout`. */
export const logStream = z.enum(['stdout', 'stderr'])
export type LogStream = z.infer<typeof logStream>

/** Characters of one line; a longer one goes on in the next. */
export const MAX_LOG_LINE_CHARS = 8192

/** One line of a sandbox's log, as clients see it. */
export const logLine = z.object({
  /** When it reached the agent: RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  stream: logStream,
  /** Without its line ending; invalid UTF-8 is replaced by U+FFFD. */
  line: z.string(),
  /** `console`, `exec`, `exec:EXEC_ID` for a kept command, `offshoot` for a remark of the service about the log itself. */
  source: z.string(),
})
export type LogLine = z.infer<typeof logLine>

const MAX_LOG_TAIL = 1_000_000

/** Query of `GET /v1/sandboxes/{id}/logs`. */
export const logsQuery = z.object({
  /** Default `both`. */
  stream: z
    .enum([...logStream.options, 'both'], { error: 'stream must be one of stdout, stderr, both' })
    .default('both'),
  /** The last so many lines of what is kept; all of it by default. */
  tail: queryInteger('tail', 0, MAX_LOG_TAIL),
  follow: queryFlag('follow'),
})
export type LogsQuery = z.output<typeof logsQuery>
