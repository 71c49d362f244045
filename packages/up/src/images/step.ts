import type { Deadline } from '@offshoot/kit/deadline'

/** What a step gets to work with. */
export interface StepWork {
  /** An empty folder of its own; every output is put here, at the path it shall have below IMAGES. Removed afterwards. */
  readonly folder: string
  readonly imagesDir: string
  readonly deadline: Deadline
  /** Tells the user what is going on, a few words. */
  readonly report: (what: string) => void
}

/** One piece of IMAGES, built from inputs that can be hashed and skipped while they have not changed. */
export interface Step {
  /** Names the stamp and what others come `after`. */
  readonly name: string
  /** What the user reads. */
  readonly title: string
  /** Steps whose outputs this one reads; when one of them changes, this one is run again. */
  readonly after: readonly string[]
  /** Paths below IMAGES that exist when the step is done. */
  readonly outputs: readonly string[]
  readonly maxSeconds: number
  /** Hash of everything the outputs depend on, but for the steps named in `after`. */
  inputsHash(): Promise<string>
  run(work: StepWork): Promise<void>
}
