/** Something the user can act on: its message is one clear sentence, printed alone, without a stack. */
export class SetupFailure extends Error {
  override readonly name = 'SetupFailure'
}
