import { open } from 'node:fs/promises'

/** Creates a file that occupies no blocks yet. @throws the file system's error, also if the file exists */
export async function createSparseFile(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.truncate(bytes)
  } finally {
    await file.close()
  }
}
