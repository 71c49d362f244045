import { lstat } from 'node:fs/promises'

/** Whether something has this path; a link counts as itself. @throws when nobody can tell: what cannot be looked at is not absent */
export async function isPresent(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
