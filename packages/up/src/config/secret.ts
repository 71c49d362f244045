import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'

const SECRET_BYTES = 32

/** 32 random bytes kept under a name, made at the first asking. The file holds them in base64, for its owner alone. */
export async function secret(folder: string, name: string): Promise<Buffer> {
  const path = join(folder, name)
  const kept = Buffer.from(await readFile(path, 'utf8').catch(() => ''), 'base64')
  if (kept.length === SECRET_BYTES) return kept
  const made = randomBytes(SECRET_BYTES)
  await writeFileDurably(path, `${made.toString('base64')}\n`)
  return made
}
