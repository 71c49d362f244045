import type { UpArguments } from '../base/arguments.ts'
import type { DataLayout } from '../base/data-layout.ts'
import type { Product } from '../base/product.ts'

export type Status = 'ok' | 'warning' | 'problem'

/** What one check found. */
export interface Finding {
  /** A name that stays the same over versions. */
  readonly check: string
  /** `warning`: Offshoot runs, but less well. `problem`: it cannot run. */
  readonly status: Status
  /** One sentence, without a full stop. */
  readonly finding: string
  /** What to do; `null`: nothing. */
  readonly remedy: string | null
}

/** Where Offshoot's own programs are. */
export interface Installation {
  /** Folder of the checkout or release. */
  readonly root: string
  /** Its own Node.js. The file may be missing. */
  readonly node: string
}

/** What the checks look at. */
export interface Subject {
  readonly args: UpArguments
  readonly layout: DataLayout
  readonly product: Product
  /** `null`: it is not on this machine yet. */
  readonly installation: Installation | null
  /** Whether its packages are installed. */
  readonly isInstalled: boolean
  /** Whether images of templates are built. */
  readonly hasImages: boolean
  /** Whether its supervisor runs in the data directory. */
  readonly isRunning: boolean
  readonly isRoot: boolean
  readonly stop: AbortSignal
}

export type Check = (subject: Subject) => Promise<Finding | readonly Finding[]>

export function ok(check: string, finding: string): Finding {
  return { check, status: 'ok', finding, remedy: null }
}

export function warning(check: string, finding: string, remedy: string | null): Finding {
  return { check, status: 'warning', finding, remedy }
}

export function problem(check: string, finding: string, remedy: string | null): Finding {
  return { check, status: 'problem', finding, remedy }
}
