/** The stream of a sandbox that arrives is not what an agent sends. Its message is for callers. */
export class MoveDamaged extends Error {
  override readonly name = 'MoveDamaged'
}
