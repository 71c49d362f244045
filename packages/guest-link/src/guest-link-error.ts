/** The link to the guest is gone, with the reason in the message; whatever was under way on it has no known outcome. */
export class GuestLinkLost extends Error {
  override readonly name = 'GuestLinkLost'
}

/** The guest stands still, or is gone: nothing was sent, and what was to be asked may be asked again. */
export class GuestNotAsked extends Error {
  override readonly name = 'GuestNotAsked'
}

/** The guest could not do what a request asked; the link is whole and further requests are welcome. */
export class GuestRequestError extends Error {
  override readonly name = 'GuestRequestError'
  /** Linux error number. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
  }
}

/** A command did not start: no such program, user or folder, too many arguments, too many commands. Nothing ran. */
export class GuestRunError extends Error {
  override readonly name = 'GuestRunError'
  /** Linux error number, as execve(2), chdir(2) or fork(2) give it; EAGAIN when the guest has no free stream. */
  readonly errno: number

  constructor(errno: number, text: string) {
    super(text)
    this.errno = errno
  }
}
