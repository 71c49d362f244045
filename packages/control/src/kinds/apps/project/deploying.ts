import type { Deadline } from '@offshoot/kit/deadline'
import type { AppRow } from '../model/app-row.ts'
import type { AppsContext } from '../model/apps-context.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import type { BuildLog } from './build-log.ts'
import { NoLongerWanted } from './deploy-failure.ts'

/** What every step of one deployment needs. */
export interface Deploying {
  readonly control: AppsContext
  readonly app: AppRow
  readonly row: DeploymentRow
  /**
   * The process's number when it claimed the row. If the row has another number by now, this process must not write to
   * it.
   */
  readonly creator: number
  readonly log: BuildLog
  readonly deadline: Deadline
}

/** @throws NoLongerWanted if the statement changed no row, because this process no longer owns it */
export async function mustBeOurs(written: Promise<readonly unknown[]>): Promise<void> {
  if ((await written).length === 0) throw new NoLongerWanted()
}
