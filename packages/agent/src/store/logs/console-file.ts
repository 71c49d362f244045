import { constants, open, type FileHandle } from 'node:fs/promises'

/** Bytes per read. */
const READ_BYTES = 64 * 1024
/** Bytes after which the file is truncated to zero. QEMU writes it in append mode and so continues at the start. */
const MAX_CONSOLE_BYTES = 1024 * 1024

export interface ConsolePart {
  readonly bytes: Buffer
  /** Offset in the file after this part. */
  readonly end: number
}

/** The file to which QEMU writes a guest's console. Reads what is new, and keeps the file from filling the disk. */
export class ConsoleFile {
  readonly #path: string
  #offset: number

  constructor(path: string, offset: number) {
    this.#path = path
    this.#offset = offset
  }

  /**
   * Reads what is new; if that is more than {@link MAX_CONSOLE_BYTES}, only its end.
   * @param isBounding also truncates the file if it is too long
   */
  async *read(isBounding: boolean): AsyncGenerator<ConsolePart> {
    const file = await openUntrusted(this.#path, constants.O_RDWR)
    if (file === null) return
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return
      if (stat.size < this.#offset) this.#offset = 0
      this.#offset = Math.max(this.#offset, stat.size - MAX_CONSOLE_BYTES)
      while (this.#offset < stat.size) {
        const bytes = Buffer.alloc(Math.min(READ_BYTES, stat.size - this.#offset))
        const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#offset)
        if (bytesRead === 0) break
        this.#offset += bytesRead
        yield { bytes: bytes.subarray(0, bytesRead), end: this.#offset }
      }
      if (!isBounding || stat.size <= MAX_CONSOLE_BYTES) return
      await file.truncate(0)
      this.#offset = 0
    } finally {
      await file.close()
    }
  }
}

/**
 * Truncates a log file to zero bytes once it is longer than `maxBytes`. QEMU writes it in append mode, and so continues at
 * the start. A missing file is not an error.
 */
export async function truncateOversized(path: string, maxBytes: number): Promise<void> {
  const file = await openUntrusted(path, constants.O_WRONLY)
  if (file === null) return
  try {
    const stat = await file.stat()
    if (stat.isFile() && stat.size > maxBytes) await file.truncate(0)
  } finally {
    await file.close()
  }
}

/** QEMU's user can write the console's folder: following a symbolic link from there would let it reach the agent's files. */
async function openUntrusted(path: string, access: number): Promise<FileHandle | null> {
  return open(path, access | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
