import type { LogLine } from '@offshoot/contract/log'

/** One line as the file has it. `n` counts the lines of a sandbox from 1 and stands first: the file is searched by it. */
export interface LogRecord extends LogLine {
  readonly n: number
  /** Of console lines: bytes of the console's file that are in the log with this line. */
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
