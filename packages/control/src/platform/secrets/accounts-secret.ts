import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The secrets that seal the keys in the database, one a line, newest first. Usually there is one.
 *
 * The first start creates it with mode 0600. It is a file outside the database, so that a copy of the database does not
 * contain it. Control processes on several hosts need the same file.
 */
export async function accountsSecrets(dataDir: string): Promise<readonly string[]> {
  const path = join(dataDir, 'accounts-secret')
  const existing = await readIfThere(path)
  if (existing !== null) return linesOf(existing)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, randomBytes(32).toString('base64'), { mode: 0o600, flush: true })
  // When two processes start together, the first `link` wins, and both read that file.
  await link(beside, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(beside)
  return linesOf(await readFile(path, 'utf8'))
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  if (lines.length === 0) throw new Error('the file accounts-secret is empty')
  return lines
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
