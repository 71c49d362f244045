import { rename, rm, writeFile } from 'node:fs/promises'

/**
 * Writes a file that its owner alone can read: beside it first, then renamed, so that no reader sees half of it. Two
 * processes may do so at the same time.
 */
export async function replacePrivateFile(path: string, content: string): Promise<void> {
  const part = `${path}.${process.pid}.part`
  try {
    await writeFile(part, content, { mode: 0o600, flag: 'wx' })
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
