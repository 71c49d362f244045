import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** SHA-256 of some texts, in hex; where one ends and the next begins counts. */
export function hashTexts(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

/**
 * SHA-256 of a file, link or folder with everything in it: names, content, link targets and executable bits, in a fixed order.
 * Times and owners do not count: a fresh checkout of the same commit hashes the same.
 * @param except names (at any depth) that do not count
 */
export async function hashTree(path: string, except: ReadonlySet<string> = new Set()): Promise<string> {
  const stat = await lstat(path)
  if (stat.isSymbolicLink()) return hashTexts('link', await readlink(path))
  if (stat.isDirectory()) {
    const names = (await readdir(path)).filter((name) => !except.has(name)).sort()
    const entries = await Promise.all(
      names.map(async (name) => hashTexts(name, await hashTree(join(path, name), except))),
    )
    return hashTexts('folder', ...entries)
  }
  const content = createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
  return hashTexts('file', (stat.mode & 0o111) === 0 ? 'data' : 'executable', content)
}
