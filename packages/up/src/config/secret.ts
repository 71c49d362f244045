import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'

const SECRET_BYTES = 32

/**
 * Returns 32 random bytes, created at the first call for a name. The file holds them in base64 and is readable by its
 * owner only.
 */
export async function secret(folder: string, name: string): Promise<Buffer> {
  const path = join(folder, name)
  const kept = Buffer.from(await readFile(path, 'utf8').catch(() => ''), 'base64')
  if (kept.length === SECRET_BYTES) return kept
  const made = randomBytes(SECRET_BYTES)
  await writeFileDurably(path, `${made.toString('base64')}\n`)
  return made
}
