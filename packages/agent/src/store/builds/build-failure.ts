import type { BuildStage } from '@offshoot/contract/build'

/** A build cannot go on for a reason that its owner is to know: a sentence without the stage. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure'
}

/** What the owner of a build is told. */
export function failureSentence(stage: BuildStage, error: unknown): string {
  if (error instanceof BuildFailure) return `${stage}: ${error.message}`
  return `${stage}: the service failed; the build may be started again`
}
