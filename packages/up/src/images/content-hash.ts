import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** SHA-256 of a list of texts, in hex. The boundaries between texts count. */
export function hashTexts(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

/**
 * SHA-256 of a file, link or folder tree: names, contents, link targets and executable bits, in a fixed order. Times
 * and owners are ignored, so every checkout of a commit has the same hash.
 * @param except names to ignore, at any depth
 */
export async function hashTree(path: string, except: Pick<ReadonlySet<string>, 'has'> = new Set()): Promise<string> {
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

/** One hash of several such trees, in their order. */
export async function hashTrees(
  paths: readonly string[],
  except: Pick<ReadonlySet<string>, 'has'> = new Set(),
): Promise<string> {
  return hashTexts(...(await Promise.all(paths.map((path) => hashTree(path, except)))))
}
