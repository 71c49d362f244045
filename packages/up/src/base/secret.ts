import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { SetupFailure } from './setup-failure.ts'

const SECRET_BYTES = 32

/**
 * Returns 32 random bytes, created at the first call for a name. The file holds them in base64 and is readable by its
 * owner only. A file that is damaged or unreadable is never replaced: nothing that the secret has sealed could be opened
 * again.
 * @throws SetupFailure if the file does not hold such a secret, or the error of the file system
 */
export async function secret(folder: string, name: string): Promise<Buffer> {
  const path = join(folder, name)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return create(path)
  const kept = Buffer.from(text, 'base64')
  if (kept.length === SECRET_BYTES) return kept
  throw new SetupFailure(`${path} is damaged. Restore it from a backup of the data directory.`)
}

async function create(path: string): Promise<Buffer> {
  const made = randomBytes(SECRET_BYTES)
  await writeFileDurably(path, `${made.toString('base64')}\n`)
  return made
}
