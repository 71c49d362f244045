import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileEntry, textEntry } from '../backup/archive.ts'
import type { Redaction } from './redaction.ts'

const TAIL_BYTES = 4 * 1024 * 1024
/** PostgreSQL writes what a statement did, and its values, in further lines of a message. */
const MESSAGE_OF_POSTGRES = /^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] (LOG|WARNING|ERROR|FATAL|PANIC|HINT|NOTICE): /

/** The end of each log, line by line without secrets. */
export async function* logParts(folder: string, redaction: Redaction): AsyncGenerator<FileEntry> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.log'))
  for (const name of names.toSorted()) {
    const lines = (await tailOf(join(folder, name))).split('\n')
    const kept = name === 'postgres.log' ? lines.filter((line) => MESSAGE_OF_POSTGRES.test(line)) : lines
    yield textEntry(`logs/${name}`, kept.map((line) => `${redaction.logLine(line)}\n`).join(''))
  }
}

/** Begins with a whole line. */
async function tailOf(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
    const text = buffer.toString('utf8', 0, bytesRead).trimEnd()
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } finally {
    await file.close()
  }
}
