import { CommandInterrupted } from '../../sandboxes/guest-shell.ts'

/** The reason of a failed deployment, as a text for the user. */
export class DeployFailure extends Error {
  override readonly name = 'DeployFailure'
}

export function isDeployFailure(error: unknown): error is Error {
  return error instanceof DeployFailure || error instanceof CommandInterrupted
}

/**
 * The deployment was cancelled, its app was deleted, or another process has taken it over. This process must not write
 * to it any more.
 */
export class NoLongerWanted extends Error {
  override readonly name = 'NoLongerWanted'
}
