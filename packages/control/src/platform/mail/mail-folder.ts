import { mkdir, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Mail } from './mail.ts'

/** Number of mails kept; older ones are deleted. */
const MAX_KEPT = 1000

/**
 * Stores mails while no server is configured: one file per mail, in the format of mail programs, readable by the owner
 * only.
 */
export class MailFolder {
  readonly path: string
  readonly #from: string
  #count = 0

  constructor(path: string, from: string) {
    this.path = path
    this.#from = from
  }

  /** Returns the file's path. Its name begins with the time, so names sort by time. */
  async write(mail: Mail): Promise<string> {
    // Loaded at the first mail, because most processes send none.
    const { createTransport } = await import('nodemailer')
    const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
    const { message } = await composer.sendMail({ from: this.#from, ...mail })
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    this.#count += 1
    const name = `${new Date().toISOString().replaceAll(':', '-')}-${process.pid}-${this.#count}.eml`
    const file = join(this.path, name)
    await writeFileDurably(file, message as Buffer)
    await this.#removeOldest()
    return file
  }

  async #removeOldest(): Promise<void> {
    const names = (await readdir(this.path))
      .filter((name) => name.endsWith('.eml'))
      .toSorted((a, b) => (a < b ? -1 : 1))
    for (const name of names.slice(0, -MAX_KEPT)) {
      await unlink(join(this.path, name)).catch((error: NodeJS.ErrnoException) => {
        // Another process has already deleted it.
        if (error.code !== 'ENOENT') throw error
      })
    }
  }
}
