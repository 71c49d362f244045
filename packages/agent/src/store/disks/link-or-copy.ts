import { constants, copyFile, link } from 'node:fs/promises'

/** The same content under a second name: for free where both lie on one file system, a copy where they do not. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error
    await copyFile(from, to, constants.COPYFILE_FICLONE)
  }
}
