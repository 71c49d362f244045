import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { appendFile, readFile, rename, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { formatRecord, parseRecords } from './record-file.ts'

const CURRENT = 'events.jsonl'
const OLDER = 'events.1.jsonl'
/** Bytes after which the file rotates: a few thousand events. */
const MAX_FILE_BYTES = 1024 * 1024
/** Bytes to read from the end of a file. The last record usually fits. */
const TAIL_BYTES = 4096
const NEWLINE = 0x0a

export interface LastRecord {
  readonly record: AgentRecord
  /** Size of the file that it ends. */
  readonly fileBytes: number
}

/**
 * A sandbox's own events on disk: a copy, for readers, of records that are already durable in the agent's event log. One process
 * writes, one call at a time.
 */
export class SandboxEventFile {
  readonly #current: string
  readonly #older: string
  #bytes = 0

  constructor(folder: string) {
    this.#current = join(folder, CURRENT)
    this.#older = join(folder, OLDER)
  }

  /** Truncates a torn tail and returns the retained records. */
  async load(): Promise<AgentRecord[]> {
    const content = await readIfThere(this.#current)
    const { records, wholeBytes } = parseRecords(content)
    if (wholeBytes < content.length) await truncate(this.#current, wholeBytes)
    this.#bytes = wholeBytes
    return [...parseRecords(await readIfThere(this.#older)).records, ...records]
  }

  /**
   * Reads only the last record, for the start of an agent that has thousands of files.
   * @returns `null` if only {@link load} can tell: the file is empty, or its tail is torn
   */
  readLast(): LastRecord | null {
    const tail = readTail(this.#current)
    if (tail === null || tail.bytes.at(-1) !== NEWLINE) return null
    const start = tail.bytes.lastIndexOf(NEWLINE, -2) + 1
    // The last line may be longer than the tail that was read.
    if (start === 0 && tail.bytes.length < tail.fileBytes) return null
    const [record] = parseRecords(tail.bytes.subarray(start)).records
    return record === undefined ? null : { record, fileBytes: tail.fileBytes }
  }

  /** Replaces {@link load} after a successful {@link readLast}. */
  resume({ fileBytes }: LastRecord): void {
    this.#bytes = fileBytes
  }

  async append(records: readonly AgentRecord[]): Promise<void> {
    if (this.#bytes >= MAX_FILE_BYTES) {
      await rename(this.#current, this.#older)
      this.#bytes = 0
    }
    const text = records.map(formatRecord).join('')
    await appendFile(this.#current, text, { mode: 0o600 })
    this.#bytes += Buffer.byteLength(text)
  }

  /** The retained records after a number, at most `count`. */
  async read(after: number, count: number): Promise<AgentRecord[]> {
    // Read the current file first. In the other order a rotation in between would hide the records of the rotated file.
    const current = await readIfThere(this.#current)
    const older = await readIfThere(this.#older)
    const page: AgentRecord[] = []
    let last = after
    for (const record of [older, current].flatMap((content) => parseRecords(content).records)) {
      if (record.number <= last) continue
      last = record.number
      if (page.push(record) === count) break
    }
    return page
  }
}

/** `null` if the file is absent or unreadable: the caller then uses {@link SandboxEventFile.load}. */
function readTail(path: string): { readonly bytes: Buffer; readonly fileBytes: number } | null {
  try {
    const fd = openSync(path, 'r')
    try {
      const fileBytes = fstatSync(fd).size
      const bytes = Buffer.alloc(Math.min(fileBytes, TAIL_BYTES))
      const got = readSync(fd, bytes, 0, bytes.length, fileBytes - bytes.length)
      return got === bytes.length && got > 0 ? { bytes, fileBytes } : null
    } finally {
      closeSync(fd)
    }
  } catch {
    return null
  }
}

async function readIfThere(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
}
