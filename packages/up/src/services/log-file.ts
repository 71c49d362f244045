import { copyFile, open, rm, stat, truncate, type FileHandle } from 'node:fs/promises'

const LOG_MAX_BYTES = 32 * 1024 * 1024

/** Services write to the file directly in append mode, so they can log without the supervisor. */
export function openLog(path: string): Promise<FileHandle> {
  return open(path, 'a', 0o600)
}

/**
 * Keeps a log below about 32 MiB, with one older part at `PATH.1`. The log is copied and truncated in place, because
 * its writers hold it open. Lines written in between are lost. Without disk space for the copy, the older part is lost.
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
    // On a full disk, the log must still be truncated.
    await rm(older, { force: true })
  }
  await truncate(path)
}
