import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'

const KEY_BYTES = 32

export interface SigningKeys {
  /** Signs new checkpoints. */
  readonly current: Buffer
  /** All keys with which checkpoints may be signed, including the current one. */
  readonly accepted: readonly Buffer[]
}

/**
 * The agent's keys for its checkpoints: `checkpoint.key`, created at the first start, then `checkpoint.key.2` and so on,
 * each created when all earlier ones were unreadable. A key is never overwritten: its checkpoints can be restored again
 * once its file is repaired.
 */
export async function loadSigningKeys(path: string, log: Pick<Logger, 'error'>): Promise<SigningKeys> {
  const names = (await readdir(dirname(path))).filter((name) => numberOf(name) !== null)
  const accepted: Buffer[] = []
  for (const name of names.toSorted((a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0))) {
    const key = await readKey(join(dirname(path), name)).catch((error: unknown) => {
      log.error(
        { err: error, name },
        'key of checkpoints cannot be read: checkpoints with its signature cannot be restored',
      )
      return null
    })
    if (key !== null) accepted.push(key)
  }
  const newest = accepted.at(-1)
  if (newest !== undefined) return { current: newest, accepted }
  const current = randomBytes(KEY_BYTES)
  await writeFileDurably(freePath(path, names), current, 0o600)
  return { current, accepted: [current] }
}

async function readKey(path: string): Promise<Buffer> {
  const key = await readFile(path)
  if (key.length !== KEY_BYTES) throw new Error(`${path} is no key of ${KEY_BYTES} bytes`)
  return key
}

function freePath(path: string, names: readonly string[]): string {
  if (names.length === 0) return path
  const highest = Math.max(...names.map((name) => numberOf(name) ?? 0))
  return `${path}.${highest + 1}`
}

/** 1 for the first key; `null` for another file. */
function numberOf(name: string): number | null {
  const found = /^checkpoint\.key(?:\.(\d{1,6}))?$/.exec(name)
  return found === null ? null : Number(found[1] ?? 1)
}
