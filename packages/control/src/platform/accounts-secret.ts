import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The secret that encrypts the signing keys in the database and signs session cookies: made at the first start, 0600,
 * beside the database rather than in it, so that a copy of the one is not a copy of both.
 * Control processes on several hosts need the same file.
 */
export async function accountsSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, 'accounts-secret')
  const existing = await readIfThere(path)
  if (existing !== null) return existing
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, randomBytes(32).toString('base64'), { mode: 0o600, flush: true })
  // Of two processes that start together the first to link wins, and both read what it wrote.
  await link(beside, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(beside)
  return readFile(path, 'utf8')
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
