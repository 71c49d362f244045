import { copyFile, open, rm, stat, truncate, type FileHandle } from 'node:fs/promises'

const LOG_MAX_BYTES = 32 * 1024 * 1024

/** The services write straight into it, in append mode, so that they go on when the supervisor is gone. */
export function openLog(path: string): Promise<FileHandle> {
  return open(path, 'a', 0o600)
}

/**
 * Keeps a log below 32 MiB or so, with one older part of the same size at `PATH.1`. It is copied and emptied in place, because its writers
 * hold it open; a line written between the two is lost, and the older part where there is no room for it.
 */
export async function boundLog(path: string, maxBytes: number = LOG_MAX_BYTES): Promise<void> {
  const size = await stat(path).then(
    (stat) => stat.size,
    () => 0,
  )
  if (size <= maxBytes) return
  const older = `${path}.1`
  try {
    await copyFile(path, older)
  } catch {
    // A full disk is no reason to keep what makes it full.
    await rm(older, { force: true })
  }
  await truncate(path)
}
