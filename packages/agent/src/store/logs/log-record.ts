import type { LogLine } from '@offshoot/contract/log'

export const CONSOLE_SOURCE = 'console'

/** One line as the file has it. `n` counts the lines of a sandbox from 1 and stands first: the file is searched by it. */
export interface LogRecord extends LogLine {
  readonly n: number
  /**
   * Of the console and of kept commands: how many bytes of the source are in the log with this line; of a command those
   * of this line's stream, counted over both. Stands last.
   */
  readonly at?: number
}

export function formatLogRecord(record: LogRecord): string {
  return `${JSON.stringify(record)}\n`
}

/** `null` for what no agent wrote whole. */
export function parseLogRecord(line: string): LogRecord | null {
  try {
    const record = JSON.parse(line) as Partial<LogRecord> | null
    return typeof record?.n === 'number' && typeof record.line === 'string' ? (record as LogRecord) : null
  } catch {
    return null
  }
}

/** What clients get of it. */
export function formatLogLine({ ts, stream, line, source }: LogRecord): string {
  return JSON.stringify({ ts, stream, line, source } satisfies LogLine)
}
