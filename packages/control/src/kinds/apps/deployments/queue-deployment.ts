import { randomUUID } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import type { DeploymentId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { AppRow } from '../app-row.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { DeploymentRow } from './deployment-row.ts'
import { insertDeployment, lockApp, supersedeQueued } from './deployment-statements.ts'

export interface NewDeployment {
  /** Branch, tag or commit. */
  readonly gitRef: string
  /** Where it is known before it is fetched: exactly this one is deployed. */
  readonly gitCommit: string | null
  /** The build that it brings back; `null`: it is a build of its own. */
  readonly originId: DeploymentId | null
}

/** One waits at most, the newest; a deployer takes it from here. @throws ApiError 404 when the app is deleted */
export async function queueDeployment(
  pool: pg.Pool,
  app: Pick<AppRow, 'id' | 'port'>,
  wanted: NewDeployment,
): Promise<DeploymentRow> {
  return transaction(pool, (client) => queueIn(client, app, wanted))
}

/** As part of a transaction. */
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
