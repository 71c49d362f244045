import { constants } from 'node:os'

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))

/** A file operation failed in the guest, as the system call there said; the link is whole. */
export class GuestFileError extends Error {
  override readonly name = 'GuestFileError'
  /** Name of the error number: `ENOENT`, `EISDIR`, `ENOSPC`, …; `EUNKNOWN` for one without a name here. */
  readonly code: string
  /** Linux error number. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
    this.code = names.get(errno) ?? 'EUNKNOWN'
  }
}
