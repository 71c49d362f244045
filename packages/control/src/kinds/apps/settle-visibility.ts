import { randomUUID } from 'node:crypto'
import { changeVisibility } from '../sandboxes/lifecycle/change-lifecycle.ts'
import type { AppsContext } from './model/apps-context.ts'
import { unlikeTheirApp } from './visibility-statements.ts'

/**
 * Makes the sandboxes of apps as visible as their apps, so that the address of such a sandbox opens no more than the
 * app's does. The agents refuse visitors from then on, also those of an edge that does not know of the change yet.
 *
 * @param appId `null`: all apps
 * @throws the first error, after the others were tried
 */
export async function settleVisibility(control: AppsContext, appId: string | null): Promise<void> {
  const rows = await unlikeTheirApp(control.database.pool, appId)
  const settled = await Promise.allSettled(
    rows.map(({ wanted, ...row }) => changeVisibility(control, row, wanted, randomUUID())),
  )
  const failed = settled.find((each) => each.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}
