/** QEMU refused a command. */
export class QmpError extends Error {
  override readonly name = 'QmpError'
  /** QAPI error class: nearly always `GenericError`; `CommandNotFound` for a command that this QEMU does not know. */
  readonly class: string

  constructor(errorClass: string, description: string) {
    super(description)
    this.class = errorClass
  }
}

/** The connection ended, or QEMU sent something other than QMP. Every pending command fails with it. */
export class QmpConnectionError extends Error {
  override readonly name = 'QmpConnectionError'
}
