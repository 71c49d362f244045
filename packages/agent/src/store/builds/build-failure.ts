import type { BuildStage } from '@offshoot/contract/build'

/** A build failed for a reason that its owner may see. The message is a sentence without the stage. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure'
}

/** The error text for the owner of a build. Other errors than `BuildFailure` stay internal. */
export function failureSentence(stage: BuildStage, error: unknown): string {
  if (error instanceof BuildFailure) return `${stage}: ${error.message}`
  return `${stage}: the service failed; the build may be started again`
}
