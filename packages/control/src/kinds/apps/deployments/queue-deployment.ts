import { randomUUID } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import type { DeploymentId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { AppRow } from '../model/app-row.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import { insertDeployment, lockApp, supersedeQueued } from '../model/deployment-statements.ts'

export interface NewDeployment {
  /** Branch, tag or commit. */
  readonly gitRef: string
  /** The exact commit to deploy, if it is known before the fetch. */
  readonly gitCommit: string | null
  /** The deployment whose build to restore; `null`: build the commit. */
  readonly originId: DeploymentId | null
}

/**
 * Queues a deployment, which replaces one that is still waiting; the deployer takes it from there.
 * @throws ApiError 404 if the app was deleted
 */
export async function queueDeployment(
  pool: pg.Pool,
  app: Pick<AppRow, 'id' | 'port'>,
  wanted: NewDeployment,
): Promise<DeploymentRow> {
  return transaction(pool, (client) => queueIn(client, app, wanted))
}

/** The same within a transaction of the caller. */
export async function queueIn(
  client: Queryable,
  app: Pick<AppRow, 'id' | 'port'>,
  { gitRef, gitCommit, originId }: NewDeployment,
): Promise<DeploymentRow> {
  const id = randomUUID()
  const [locked] = await lockApp(client, app.id)
  if (locked === undefined) throw new ApiError('notFound')
  await supersedeQueued(client, app.id)
  const [row] = await insertDeployment(client, id, app.id, gitRef, gitCommit, originId ?? id, app.port)
  if (row === undefined) throw new Error('insert gave no row')
  return row
}
