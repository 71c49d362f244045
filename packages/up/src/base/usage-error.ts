/** The command line is invalid; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
