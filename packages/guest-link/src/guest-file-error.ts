import { constants } from 'node:os'

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))

/** A file operation failed in the guest. The link stays usable. */
export class GuestFileError extends Error {
  override readonly name = 'GuestFileError'
  /** Name of the error number: `ENOENT`, `EISDIR`, `ENOSPC`, …; `EUNKNOWN` when this host has no name for it. */
  readonly code: string
  /** Linux error number. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
    this.code = names.get(errno) ?? 'EUNKNOWN'
  }
}
