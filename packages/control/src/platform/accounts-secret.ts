import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The secret that encrypts the signing keys in the database and signs session cookies.
 *
 * The first start creates it with mode 0600. It is a file outside the database, so that a copy of the database does not
 * contain it. Control processes on several hosts need the same file.
 */
export async function accountsSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, 'accounts-secret')
  const existing = await readIfThere(path)
  if (existing !== null) return existing
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, randomBytes(32).toString('base64'), { mode: 0o600, flush: true })
  // When two processes start together, the first `link` wins, and both read that file.
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
