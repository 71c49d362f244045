import {
  type Database,
  DATABASE_NAME,
  type DatabaseStatus,
  type DatabaseSummary,
  databaseUser,
} from '@offshoot/contract/database'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import { type RawBuilder, sql } from 'kysely'
import type { DatabasesContext } from './databases-context.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { openSecrets } from './model/secrets.ts'

const STATUS: Record<SandboxStatus, DatabaseStatus> = {
  creating: 'provisioning',
  running: 'running',
  // The workspace has no credit. To callers, the paused database looks like a hibernated one.
  paused: 'hibernated',
  hibernated: 'hibernated',
  failed: 'failed',
}

/** The condition of a list's filter, in accordance with {@link presentSummary}. */
export function statusIs(status: DatabaseStatus | undefined): RawBuilder<unknown>[] {
  if (status === undefined) return []
  const sandboxes = Object.entries(STATUS).flatMap(([sandbox, shown]) => (shown === status ? [sandbox] : []))
  const isReady = sql`d.status <> 'provisioning' and coalesce(s.status, 'failed') = any(${sandboxes}::text[])`
  return [status === 'provisioning' ? sql`(d.status = 'provisioning' or ${isReady})` : isReady]
}

export function presentSummary(row: DatabaseRow): DatabaseSummary {
  const { id, label, size, status, sandbox_status: sandbox, created_at } = row
  return {
    id,
    label,
    size,
    status: status === 'provisioning' ? 'provisioning' : STATUS[sandbox ?? 'failed'],
    created_at: created_at.toISOString(),
    parent_id: row.parent_id,
  }
}

/** Includes the credentials. */
export function presentDatabase(
  control: Pick<DatabasesContext, 'config' | 'databaseSecrets'>,
  row: DatabaseRow,
): Database {
  const { databases, public_url: publicUrl } = control.config
  const { password, brokerToken } = openSecrets(control.databaseSecrets, row.secrets)
  const username = databaseUser(row.id)
  const host = databases.suffix === null ? databases.host : `${row.id}.db.${databases.suffix}`
  return {
    ...presentSummary(row),
    connection_url: `postgresql://${username}:${password}@${host}:${databases.port}/${DATABASE_NAME}?sslmode=require`,
    broker_url: `${publicUrl}/v1/databases/${row.id}/proxy`,
    broker_token: brokerToken,
    host,
    port: databases.port,
    database: DATABASE_NAME,
    username,
    password,
    cpu: row.cpu ?? 0,
    memory_mb: row.memory_mb ?? 0,
    disk_mb: row.disk_mb,
    idle_timeout_seconds: row.idle_timeout_seconds,
    always_on: row.always_on,
    recovered_at: row.recovered_at?.toISOString() ?? null,
    recovered_until: row.recovered_until?.toISOString() ?? null,
  }
}
