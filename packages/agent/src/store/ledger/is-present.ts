import { lstat } from 'node:fs/promises'

/**
 * Whether a file exists at this path. Does not follow links.
 * @throws an error if the answer is unknown: a path that cannot be examined is not absent
 */
export async function isPresent(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
