import type { SandboxId } from '@offshoot/contract/ids'
import { LEASE_SECONDS } from '../../platform/jobs/task.ts'
import type { DatabasesContext } from './databases-context.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { insertProvisioning } from './database-statements.ts'
import { closeSecrets, makeSecrets, type Secrets, sha256 } from './model/secrets.ts'

/** A request for a database that is made from another. */
export interface Branch {
  readonly parent: DatabaseRow
  readonly id: SandboxId
  readonly label: string | null
  readonly requestId: string
}

/**
 * The first step for a database with another's data: inserts its row with new secrets. The row is removed after
 * {@link LEASE_SECONDS} unless it is renewed or the database is ready by then.
 */
export async function provisionChild(
  { database, databaseSecrets }: DatabasesContext,
  { parent, id, label }: Branch,
): Promise<Secrets> {
  const secrets = makeSecrets()
  await insertProvisioning(
    database.pool,
    id,
    parent.workspace_id,
    label,
    parent.size,
    closeSecrets(databaseSecrets, secrets),
    sha256(secrets.brokerToken),
    parent.idle_timeout_seconds,
    parent.id,
    LEASE_SECONDS,
  )
  return secrets
}
