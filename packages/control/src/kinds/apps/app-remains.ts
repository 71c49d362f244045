import type { WorkspaceId } from '@offshoot/contract/ids'
import type { AppsContext } from './model/apps-context.ts'
import type { Remains } from '../../platform/idempotency/idempotency.ts'
import { appOfWorkspace } from './model/app-statements.ts'
import { presentAppOf } from './model/present-app.ts'

/** Finds the result of a create whose process died. The create is one statement, so the row exists or nothing does. */
export async function appRemains(control: AppsContext, workspaceId: WorkspaceId, id: string): Promise<Remains> {
  const [row] = await appOfWorkspace(control.database.pool, id, workspaceId)
  return row === undefined ? 'nothing' : { status: 201, body: JSON.stringify(presentAppOf(control, row)) }
}
