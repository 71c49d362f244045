import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'

const KEY_BYTES = 32

/** The agent's key for its checkpoints, made at its first start. @throws Error when the file is not one */
export async function loadSigningKey(path: string): Promise<Buffer> {
  try {
    const key = await readFile(path)
    if (key.length !== KEY_BYTES) throw new Error(`${path} is no key of ${KEY_BYTES} bytes`)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const key = randomBytes(KEY_BYTES)
  await writeFileDurably(path, key, 0o600)
  return key
}
