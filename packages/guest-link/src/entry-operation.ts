import { constants } from 'node:os'
import type { DetailedFileEntry, EntryFormat } from './file-entry.ts'
import type { FileOperation } from './file-operation.ts'
import { GuestFileError } from './guest-file-error.ts'

/** A file operation whose results are entries. */
export class EntryOperation {
  readonly #operation: FileOperation
  readonly #format: EntryFormat

  constructor(operation: FileOperation, format: EntryFormat) {
    this.#operation = operation
    this.#format = format
  }

  /** The only entry. @throws GuestFileError */
  async one(): Promise<DetailedFileEntry> {
    const entry = await this.#next()
    if (entry === undefined) throw new GuestFileError(constants.errno.EIO, 'the guest gave no result')
    return entry
  }

  /** All entries. Leaving the iteration early ends the operation. @throws GuestFileError */
  async *all(): AsyncGenerator<DetailedFileEntry, void, undefined> {
    try {
      for (let entry = await this.#next(); entry !== undefined; entry = await this.#next()) {
        this.#operation.dropDeadline()
        yield entry
      }
    } finally {
      this.#operation.cancel()
    }
  }

  async #next(): Promise<DetailedFileEntry | undefined> {
    const fixed = await this.#operation.next(this.#format.fixedBytes)
    if (fixed === undefined) return undefined
    return this.#format.decode(fixed, await this.#operation.result(this.#format.textBytes(fixed)))
  }
}
