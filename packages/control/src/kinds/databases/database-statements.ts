import { DEFAULT_DATABASE_DISK_MB } from '@offshoot/contract/database'
import { statement } from '../../platform/db/statement.ts'
import type { DatabaseRow } from './model/database-row.ts'

const COLUMNS = `d.id, d.workspace_id, d.label, d.size, d.status, d.secrets, d.broker_token_sha256, d.idle_timeout_seconds,
  d.always_on, d.disk_mb, d.parent_id, d.created_at, d.recovered_at, d.recovered_until, s.agent_id, s.status as sandbox_status, s.cpu, s.memory_mb`
const FROM = 'databases d left join sandboxes s on s.id = d.id'
/** Selects {@link DatabaseRow}s, without conditions. */
export const SELECT_DATABASES = `select ${COLUMNS} from ${FROM}`

/**
 * Inserts a row that is removed after `leaseSeconds` unless the database is ready by then, in case the creating process
 * dies. The disk is as large as the parent's.
 */
export const insertProvisioning = statement<
  { id: string },
  [
    id: string,
    workspaceId: string,
    label: string | null,
    size: string,
    secrets: Buffer,
    brokerTokenSha256: Buffer,
    idleTimeoutSeconds: number,
    parentId: string | null,
    leaseSeconds: number,
  ]
>(
  'insert-provisioning-database',
  `insert into databases (id, workspace_id, label, size, status, secrets, broker_token_sha256, idle_timeout_seconds, parent_id,
     deletion_due_at, disk_mb)
   values ($1, $2, $3, $4, 'provisioning', $5, $6, $7, $8, now() + make_interval(secs => $9),
     coalesce((select disk_mb from databases where id = $8), ${DEFAULT_DATABASE_DISK_MB})) returning id`,
)

/** No row: the row was removed as abandoned, or the database is ready. */
export const renewProvisioning = statement<{ id: string }, [id: string, leaseSeconds: number]>(
  'renew-provisioning-database',
  `update databases set deletion_due_at = now() + make_interval(secs => $2) where id = $1 and status = 'provisioning' returning id`,
)

/** Returns no row if the row was removed as abandoned. */
export const setDatabaseReady = statement<{ id: string }, [id: string]>(
  'set-database-ready',
  `update databases set status = 'ready', deletion_due_at = null where id = $1 and status = 'provisioning' returning id`,
)

/** Finds a database by id and workspace: this is the tenant check. */
export const databaseOfWorkspace = statement<DatabaseRow, [id: string, workspaceId: string]>(
  'database-of-workspace',
  `${SELECT_DATABASES} where d.id = $1 and d.workspace_id = $2 and d.status <> 'deleting'`,
)

/** For the SQL broker, whose token grants access to exactly this database. */
export const databaseById = statement<DatabaseRow, [id: string]>(
  'database-by-id',
  `${SELECT_DATABASES} where d.id = $1 and d.status = 'ready'`,
)

/** Fields that are not named keep their value. */
export const patchDatabaseRow = statement<
  { id: string },
  [id: string, label: string | null, idleTimeoutSeconds: number | null, alwaysOn: boolean | null]
>(
  'patch-database',
  `update databases set label = coalesce($2, label), idle_timeout_seconds = coalesce($3, idle_timeout_seconds),
     always_on = coalesce($4, always_on)
   where id = $1 and status = 'ready' returning id`,
)

/** The name of the lease that a change of the server holds until the row has the same values. */
export function databaseLease(id: string): string {
  return `database ${id}`
}

/** The row's values, to be read while holding the lease. */
export const readyDatabase = statement<Pick<DatabaseRow, 'secrets' | 'disk_mb'>, [id: string]>(
  'ready-database',
  `select secrets, disk_mb from databases where id = $1 and status = 'ready'`,
)

export const setDatabaseDisk = statement<{ id: string }, [id: string, diskMb: number]>(
  'set-database-disk',
  'update databases set disk_mb = $2 where id = $1 returning id',
)

export const setDatabaseSecrets = statement<{ id: string }, [id: string, secrets: Buffer, brokerTokenSha256: Buffer]>(
  'set-database-secrets',
  `update databases set secrets = $2, broker_token_sha256 = $3 where id = $1 and status <> 'deleting' returning id`,
)

/** Hides the database from callers. If the deleting process dies, another one continues when the lease expires. */
export const setDatabaseDeleting = statement<{ id: string }, [id: string, leaseSeconds: number]>(
  'set-database-deleting',
  `update databases set status = 'deleting', deletion_due_at = now() + make_interval(secs => $2) where id = $1 returning id`,
)

export const removeDatabaseRow = statement<{ id: string }, [id: string]>(
  'remove-database-row',
  'delete from databases where id = $1 returning id',
)

/** Databases whose creation or deletion was never finished. */
export const abandonedDatabaseIds = statement<{ id: string }, [limit: number]>(
  'abandoned-database-ids',
  'select id from databases where deletion_due_at <= now() order by deletion_due_at limit $1',
)

/** No row: the database is not abandoned. */
export const endAbandonedDatabase = statement<{ id: string }, [id: string]>(
  'end-abandoned-database',
  `update databases set status = 'deleting' where id = $1 and deletion_due_at <= now() returning id`,
)
