import type { Deadline } from '@offshoot/kit/deadline'
import type { AppRow } from '../app-row.ts'
import type { AppsContext } from '../apps-context.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { BuildLog } from './build-log.ts'
import { NoLongerWanted } from './deploy-failure.ts'

/** What every step of one deployment works with. */
export interface Deploying {
  readonly control: AppsContext
  readonly app: AppRow
  readonly row: DeploymentRow
  /** Of this process, as it claimed the row: what is written under another is no longer ours to write. */
  readonly creator: number
  readonly log: BuildLog
  readonly deadline: Deadline
}

/** @throws NoLongerWanted when the row was another's to write */
export async function mustBeOurs(written: Promise<readonly unknown[]>): Promise<void> {
  if ((await written).length === 0) throw new NoLongerWanted()
}
