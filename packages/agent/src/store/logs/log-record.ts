import type { LogLine } from '@offshoot/contract/log'

export const CONSOLE_SOURCE = 'console'

/** One line of the log file. `n` numbers the lines of a sandbox from 1. It is the first key, because the binary search parses it. */
export interface LogRecord extends LogLine {
  readonly n: number
  /**
   * For the console and for kept commands: the offset in the source up to which the log is complete with this line. A kept
   * command has one offset count for both streams; `at` is valid for this line's stream. It is the last key.
   */
  readonly at?: number
}

export function formatLogRecord(record: LogRecord): string {
  return `${JSON.stringify(record)}\n`
}

/** `null` for an incomplete or invalid line. */
export function parseLogRecord(line: string): LogRecord | null {
  try {
    const record = JSON.parse(line) as Partial<LogRecord> | null
    return typeof record?.n === 'number' && typeof record.line === 'string' ? (record as LogRecord) : null
  } catch {
    return null
  }
}

/** The line as clients get it. */
export function formatLogLine({ ts, stream, line, source }: LogRecord): string {
  return JSON.stringify({ ts, stream, line, source } satisfies LogLine)
}
