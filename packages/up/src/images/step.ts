import type { Deadline } from '@offshoot/kit/deadline'

/** Working folder, limits and progress output of a running step. */
export interface StepWork {
  /** An empty folder of the step's own. Outputs go there, at their paths below IMAGES. Removed afterwards. */
  readonly folder: string
  readonly imagesDir: string
  readonly deadline: Deadline
  /** Shows progress to the user, in a few words. */
  readonly report: (what: string) => void
}

/** One part of IMAGES. It is skipped while the hash of its inputs is unchanged. */
export interface Step {
  /** Name of the stamp; other steps refer to it in `after`. */
  readonly name: string
  /** Shown to the user. */
  readonly title: string
  /** Steps whose outputs this one reads. If one of them changes, this one runs again. */
  readonly after: readonly string[]
  /** Paths below IMAGES that exist after the step. */
  readonly outputs: readonly string[]
  readonly maxSeconds: number
  /** Hash of everything that determines the outputs, except for the steps in `after`. */
  inputsHash(): Promise<string>
  run(work: StepWork): Promise<void>
}
