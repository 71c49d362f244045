import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'

/**
 * What reading a record came to. `absent`: the file does not exist. `unreadable`: the file exists, or may exist, and this
 * agent cannot use it: an I/O error, too many open files, damaged content, or the format of a newer agent. Only `absent` may
 * ever lead to a deletion.
 */
export type RecordRead<T> =
  | { readonly state: 'present'; readonly record: T }
  | { readonly state: 'absent' }
  | { readonly state: 'unreadable'; readonly path: string; readonly error: unknown }

/** Of a record: absent means 1. An agent that changes the meaning of a record raises it, so that older agents leave it alone. */
export const recordFormat = z.literal(1).optional()

/** Never throws. @param parse throws when the content is not a record that this agent understands */
export async function readRecord<T>(path: string, parse: (content: unknown) => T): Promise<RecordRead<T>> {
  try {
    return { state: 'present', record: parse(JSON.parse(await readFile(path, 'utf8'))) }
  } catch (error) {
    return failed(path, error)
  }
}

/** The same without waiting. */
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
