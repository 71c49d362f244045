/** QEMU understood a command and refused it. */
export class QmpError extends Error {
  override readonly name = 'QmpError'
  /** QAPI error class: nearly always `GenericError`, `CommandNotFound` for what this QEMU does not know. */
  readonly class: string

  constructor(errorClass: string, description: string) {
    super(description)
    this.class = errorClass
  }
}

/** The connection is gone or what came over it was not the protocol; every command under way fails with it. */
export class QmpConnectionError extends Error {
  override readonly name = 'QmpConnectionError'
}
