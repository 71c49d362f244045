import { type CreateDatabaseBody, DATABASE_TEMPLATES, DEFAULT_DATABASE_IDLE_SECONDS } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { DatabasesContext } from './databases-context.ts'
import { createSandbox } from '../sandboxes/create-sandbox.ts'
import { whileRenewing } from '../../platform/db/lease.ts'
import { LEASE_SECONDS } from '../../platform/jobs/task.ts'
import { claimDatabase, UNCLAIMED } from './claim-database.ts'
import {
  databaseOfWorkspace,
  insertProvisioning,
  renewProvisioning,
  setDatabaseDeleting,
  setDatabaseReady,
} from './database-statements.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { removeDatabase } from './remove-database.ts'
import { closeSecrets, makeSecrets, sha256 } from './model/secrets.ts'

export interface NewDatabase {
  /** An id that is not in use. The database's sandbox gets the same id. */
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly body: CreateDatabaseBody
}

/**
 *     row `provisioning`, with its secrets → sandbox → identity → row `ready` → 201
 *
 * If the process dies on the way, the row is due for removal, together with everything that belongs to it.
 * @throws ApiError as for a sandbox's create; nothing is left then
 */
export async function createDatabase(control: DatabasesContext, wanted: NewDatabase): Promise<DatabaseRow> {
  const { id, workspaceId, requestId, body } = wanted
  const { size = '1g', label = null } = body
  const secrets = makeSecrets()
  await insertProvisioning(
    control.database.pool,
    id,
    workspaceId,
    label,
    size,
    closeSecrets(control.databaseSecrets, secrets),
    sha256(secrets.brokerToken),
    DEFAULT_DATABASE_IDLE_SECONDS,
    null,
    LEASE_SECONDS,
  )
  return orNothing(control, wanted, async () => {
    await createSandbox(control, {
      id,
      workspaceId,
      requestId,
      manager: { by: 'database', id },
      body: {
        template: DATABASE_TEMPLATES[size],
        persistent: true,
        idle_timeout_seconds: DEFAULT_DATABASE_IDLE_SECONDS,
      } as Parameters<typeof createSandbox>[1]['body'],
    }).catch(refuseKindly)
    return finish(control, wanted, (row) => claimDatabase(control.fleet, row, { secrets, formerly: UNCLAIMED }))
  })
}

/** Several renewals may fail before the lease ends. */
const RENEW_MS = (LEASE_SECONDS * 1000) / 5

/**
 * Completes a database that already has a row, or removes all of it. The row's lease is renewed meanwhile: the steps
 * together may take longer than the lease, for example a create that several agents refuse slowly.
 */
export async function orNothing<T>(
  control: DatabasesContext,
  { id, requestId }: Pick<NewDatabase, 'id' | 'requestId'>,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await whileRenewing(RENEW_MS, () => renewProvisioning(control.database.pool, id, LEASE_SECONDS), make)
  } catch (error) {
    await setDatabaseDeleting(control.database.pool, id, LEASE_SECONDS)
    control.brokerConnections.forget(id)
    // If the agent is unreachable, the reaper tries again.
    await removeDatabase(control, id, requestId).catch((err: unknown) =>
      control.log.warn({ req_id: requestId, database: id, err }, 'half-made database left to the reaper'),
    )
    throw error
  }
}

/**
 * The remaining steps after the sandbox was created, until the database is ready.
 * @throws ApiError 409 if the row was removed as abandoned meanwhile
 */
export async function finish(
  { database: { pool } }: DatabasesContext,
  { id, workspaceId }: Pick<NewDatabase, 'id' | 'workspaceId'>,
  claim: (row: DatabaseRow) => Promise<void>,
): Promise<DatabaseRow> {
  const [row] = await databaseOfWorkspace(pool, id, workspaceId)
  if (row === undefined) throw givenUp()
  await claim(row)
  const [ready] = await setDatabaseReady(pool, id)
  if (ready === undefined) throw givenUp()
  return { ...row, status: 'ready' }
}

function givenUp(): ApiError {
  return new ApiError('conflict', { detail: 'the creation of the database was cancelled' })
}

/** Callers do not choose the template, so a missing template is reported as "no node can do it". */
function refuseKindly(error: unknown): never {
  if (error instanceof ApiError && error.kind === 'notFound') throw new ApiError('noComputeNode', {}, { cause: error })
  throw error
}
