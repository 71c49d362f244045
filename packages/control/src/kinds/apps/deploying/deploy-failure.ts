import { CommandInterrupted } from '../../sandboxes/guest-shell.ts'

/** Why a deployment has failed, in words for whoever asked for it. */
export class DeployFailure extends Error {
  override readonly name = 'DeployFailure'
}

export function isDeployFailure(error: unknown): error is Error {
  return error instanceof DeployFailure || error instanceof CommandInterrupted
}

/** It is somebody else's by now, or nobody's: cancelled, or its app deleted. Nothing may be written any more. */
export class NoLongerWanted extends Error {
  override readonly name = 'NoLongerWanted'
}
