/** The link to the guest is lost; the message says why. The outcome of pending requests is unknown. */
export class GuestLinkLost extends Error {
  override readonly name = 'GuestLinkLost'
}

/** The guest is paused, held or gone, and the request was not sent to it. The caller may retry. */
export class GuestUnavailable extends Error {
  override readonly name = 'GuestUnavailable'
}

/** The guest answered a request with an error. The link stays usable. */
export class GuestRequestError extends Error {
  override readonly name = 'GuestRequestError'
  /** Linux error number. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
  }
}

/** A command did not start: no such program, user or folder, too many arguments, or too many commands. */
export class GuestRunError extends Error {
  override readonly name = 'GuestRunError'
  /** Linux error number of execve(2), chdir(2) or fork(2). EAGAIN: the guest has too many commands. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
  }
}
