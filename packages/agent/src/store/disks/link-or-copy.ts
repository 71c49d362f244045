import { constants, copyFile, link } from 'node:fs/promises'

/** Hard-links a file, or copies it if a link is not possible, as between two file systems. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error
    await copyFile(from, to, constants.COPYFILE_FICLONE)
  }
}
