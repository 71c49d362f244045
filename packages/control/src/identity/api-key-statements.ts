import { statement } from '../db/statement.ts'

export interface LiveKeyRow {
  readonly hash: Buffer
  readonly workspace_id: string
  readonly last_used_at: Date | null
}

/** A key by its public part, unless it has expired or was revoked. */
export const liveKey = statement<LiveKeyRow, [prefix: string]>(
  'live-key',
  `select hash, workspace_id, last_used_at from api_keys
   where prefix = $1 and revoked_at is null and (expires_at is null or expires_at > now())`,
)

export const insertApiKey = statement<
  { prefix: string },
  [prefix: string, hash: Buffer, workspaceId: string, name: string, createdBy: string]
>(
  'insert-api-key',
  'insert into api_keys (prefix, hash, workspace_id, name, created_by) values ($1, $2, $3, $4, $5) returning prefix',
)

export const touchApiKeys = statement<never, [prefixes: readonly string[]]>(
  'touch-api-keys',
  'update api_keys set last_used_at = now() where prefix = any($1)',
)
