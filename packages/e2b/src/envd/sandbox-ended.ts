/** A stream from the inside of a sandbox broke off. E2B's clients expect that their connection breaks off as well. */
export class SandboxEnded extends Error {
  override readonly name = 'SandboxEnded'

  constructor(reason = 'the sandbox ended', cause?: unknown) {
    super(reason, { cause })
  }
}
