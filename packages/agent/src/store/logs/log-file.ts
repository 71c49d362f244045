import { appendFile, open, readFile, rename, truncate, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_LOG_LINE_CHARS } from '@offshoot/contract/log'
import { CONSOLE_SOURCE, parseLogRecord, type LogRecord } from './log-record.ts'

/** Bytes after which the log rotates: the current file replaces the older one. A log takes at most twice as many. */
export const MAX_LOG_FILE_BYTES = 8 * 1024 * 1024
const CURRENT = 'log.jsonl'
const OLDER = 'log.1.jsonl'
/** Bytes per read. Larger than any record (a character takes at most six bytes of JSON). */
const READ_BYTES = 16 * MAX_LOG_LINE_CHARS
const NEWLINE = 0x0a
/** The part of a console line's JSON that precedes its offset in the console. */
const CONSOLE_AT = `"source":"${CONSOLE_SOURCE}","at":`

/**
 * A sandbox's log on disk: JSON lines with increasing numbers, in two files of bounded size. One process writes.
 * Without fsync: a power cut loses the last lines. A kill -9 of the agent loses no line that it has written.
 */
export class LogFile {
  readonly #current: string
  readonly #older: string
  #bytes = 0

  private constructor(folder: string) {
    this.#current = join(folder, CURRENT)
    this.#older = join(folder, OLDER)
  }

  /** Truncates a torn tail, and reads the last line number and console offset. */
  static async open(folder: string): Promise<{ file: LogFile; lastNumber: number; consoleBytes: number }> {
    const file = new LogFile(folder)
    const current = await readIfThere(file.#current)
    file.#bytes = current.lastIndexOf(NEWLINE) + 1
    if (file.#bytes < current.length) await truncate(file.#current, file.#bytes)
    const whole = current.subarray(0, file.#bytes)
    const needsOlder = file.#bytes === 0 || lastConsole(whole) === null
    const older = needsOlder ? await readIfThere(file.#older) : Buffer.alloc(0)
    return {
      file,
      lastNumber: lastRecord(whole)?.n ?? lastRecord(older)?.n ?? 0,
      consoleBytes: lastConsole(whole) ?? lastConsole(older) ?? 0,
    }
  }

  /** @param text complete records */
  async append(text: string): Promise<void> {
    if (this.#bytes >= MAX_LOG_FILE_BYTES) {
      await rename(this.#current, this.#older)
      this.#bytes = 0
    }
    await appendFile(this.#current, text, { mode: 0o600 })
    this.#bytes += Buffer.byteLength(text)
  }

  /** The retained records from `first` on, in order, including those written while it reads. */
  async *read(first: number): AsyncGenerator<readonly LogRecord[]> {
    // Open the current file first. If the log rotates in between, both handles show the same file: no record is missed, and the
    // numbers filter out the repeated ones.
    const current = await openIfThere(this.#current)
    const older = await openIfThere(this.#older)
    try {
      let next = first
      for (const file of [older, current]) {
        if (file === null) continue
        for await (const records of readFrom(file, next)) {
          yield records
          next = (records.at(-1)?.n ?? next - 1) + 1
        }
      }
    } finally {
      await older?.close()
      await current?.close()
    }
  }
}

async function* readFrom(file: FileHandle, first: number): AsyncGenerator<readonly LogRecord[]> {
  const buffer = Buffer.alloc(READ_BYTES)
  for (let at = await locate(file, first); ;) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, at)
    const end = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE) + 1
    if (end === 0) return
    at += end
    const lines = buffer.toString('utf8', 0, end - 1).split('\n')
    const records = lines.map(parseLogRecord).filter((record) => record !== null && record.n >= first)
    if (records.length > 0) yield records as LogRecord[]
  }
}

/** The offset of a line at or before record `first`, by binary search: the numbers increase along the file. */
async function locate(file: FileHandle, first: number): Promise<number> {
  const buffer = Buffer.alloc(READ_BYTES)
  let low = 0
  let high = (await file.stat()).size
  while (high - low > READ_BYTES) {
    const middle = Math.floor((low + high) / 2)
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, middle)
    const lineAt = buffer.subarray(0, bytesRead).indexOf(NEWLINE) + 1
    const number = /^\{"n":(\d+),/.exec(buffer.toString('latin1', lineAt, lineAt + 32))?.[1]
    if (lineAt === 0 || number === undefined || Number(number) >= first) high = middle
    else low = middle + lineAt
  }
  return low
}

function lastRecord(content: Buffer): LogRecord | null {
  const end = content.lastIndexOf(NEWLINE)
  if (end < 0) return null
  const begin = end === 0 ? 0 : content.lastIndexOf(NEWLINE, end - 1) + 1
  return parseLogRecord(content.toString('utf8', begin, end))
}

/** The last console offset in a file. JSON escapes quotes within a line's text, so that the text cannot contain this pattern. */
function lastConsole(content: Buffer): number | null {
  const at = content.lastIndexOf(CONSOLE_AT)
  if (at < 0) return null
  const digits = at + CONSOLE_AT.length
  return Number.parseInt(content.toString('latin1', digits, digits + 20), 10)
}

async function readIfThere(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  return open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
