import { z } from 'zod'
import { queryFlag, queryInteger } from './query-fields.ts'

/** Output stream of a command. The console counts as `stdout`. */
export const logStream = z.enum(['stdout', 'stderr'])
export type LogStream = z.infer<typeof logStream>

/** Maximum characters of a line. A longer one continues in the next line. */
export const MAX_LOG_LINE_CHARS = 8192

/** One line of a sandbox's log. */
export const logLine = z.object({
  /** When the line reached the agent: RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  stream: logStream,
  /** Without its line ending; invalid UTF-8 is replaced by U+FFFD. */
  line: z.string(),
  /**
   * `console`, `exec`, `exec:EXEC_ID` for a kept command, or `offshoot` for remarks of the service about the log
   * itself.
   */
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
  /** Number of lines from the end. Default: all lines kept. */
  tail: queryInteger('tail', 0, MAX_LOG_TAIL),
  /**
   * Server-sent events: these lines, then new ones. The header `Last-Event-ID` of the answer is the position before its
   * first line.
   */
  follow: queryFlag('follow'),
})
export type LogsQuery = z.output<typeof logsQuery>
