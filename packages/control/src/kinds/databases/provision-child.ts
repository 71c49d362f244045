import type { SandboxId } from '@offshoot/contract/ids'
import type { DatabasesContext } from './databases-context.ts'
import type { DatabaseRow } from './database-row.ts'
import { insertProvisioning } from './database-statements.ts'
import { closeSecrets, makeSecrets, type Secrets, sha256 } from './secrets.ts'

/** A database that is made of another. */
export interface Branch {
  readonly parent: DatabaseRow
  readonly id: SandboxId
  readonly label: string | null
  readonly requestId: string
}

/** The first step of one that begins with another's data: its row, and secrets of its own. It is removed after `leaseSeconds` unless it is ready by then. */
export async function provisionChild(
  { database, databaseSecrets }: DatabasesContext,
  { parent, id, label }: Branch,
  leaseSeconds: number,
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
    leaseSeconds,
  )
  return secrets
}
