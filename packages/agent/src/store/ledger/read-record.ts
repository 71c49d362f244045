import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'

/**
 * The result of reading a record. `absent`: the file does not exist. `unreadable`: the file exists, or may exist, and this
 * agent cannot use it, because of an I/O error, too many open files, damaged content, or the format of a newer agent. Only
 * `absent` may ever lead to a deletion.
 */
export type RecordRead<T> =
  | { readonly state: 'present'; readonly record: T }
  | { readonly state: 'absent' }
  | { readonly state: 'unreadable'; readonly path: string; readonly error: unknown }

/**
 * The format of a record; 1 if absent. Raise it with a change of the meaning of a record, so that older agents leave it
 * alone.
 */
export const recordFormat = z.literal(1).optional()

/** Reads a record. Never throws. @param parse throws if the content is not a record that this agent understands */
export async function readRecord<T>(path: string, parse: (content: unknown) => T): Promise<RecordRead<T>> {
  try {
    return { state: 'present', record: parse(JSON.parse(await readFile(path, 'utf8'))) }
  } catch (error) {
    return failed(path, error)
  }
}

/** Like {@link readRecord}, but synchronous. */
export function readRecordSync<T>(path: string, parse: (content: unknown) => T): RecordRead<T> {
  try {
    return { state: 'present', record: parse(JSON.parse(readFileSync(path, 'utf8'))) }
  } catch (error) {
    return failed(path, error)
  }
}

function failed(path: string, error: unknown): RecordRead<never> {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' }
  return { state: 'unreadable', path, error }
}
