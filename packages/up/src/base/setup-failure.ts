/** An error that the user can fix. Its message is one sentence, printed without a stack. */
export class SetupFailure extends Error {
  override readonly name = 'SetupFailure'
}
