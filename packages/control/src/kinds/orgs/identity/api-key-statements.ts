import type { WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceRole } from '@offshoot/contract/role'
import type { Scope } from '@offshoot/contract/scope'
import { statement } from '../../../platform/db/statement.ts'

export interface LiveKeyRow {
  readonly hash: Buffer
  readonly workspace_id: WorkspaceId
  readonly scopes: readonly Scope[] | null
  /** The role of the user who created the key. */
  readonly role: WorkspaceRole
  readonly is_suspended: boolean
  readonly last_used_at: Date | null
}

const LIVE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > now())'

/** A key by its public prefix, unless it has expired or was revoked, or its workspace was deleted. */
export const liveKey = statement<LiveKeyRow, [prefix: string]>(
  'live-key',
  `select k.hash, k.workspace_id, k.scopes, coalesce(m.role, 'member') as role,
     o.suspended_at is not null as is_suspended, k.last_used_at
   from api_keys k
   join organization o on o.id = k.workspace_id and o.deletion_due_at is null
   left join member m on m."organizationId" = k.workspace_id and m."userId" = k.created_by
   where k.prefix = $1 and ${LIVE}`,
)

export interface TokenRow {
  readonly prefix: string
  readonly name: string
  readonly scopes: Scope[] | null
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
  readonly created_by: string | null
}

/** The select list of a {@link TokenRow}. */
export const TOKEN_COLUMNS = 'prefix, name, scopes, created_at, expires_at, last_used_at, created_by'

/** Returns no row if the prefix is taken. */
export const insertApiKey = statement<
  TokenRow,
  [
    prefix: string,
    hash: Buffer,
    workspaceId: string,
    name: string,
    createdBy: string,
    scopes: readonly Scope[] | null,
    expiresInDays: number | null,
  ]
>(
  'insert-api-key',
  `insert into api_keys (prefix, hash, workspace_id, name, created_by, scopes, expires_at)
   values ($1, $2, $3, $4, $5, $6, now() + make_interval(days => $7::int))
   on conflict (prefix) do nothing returning ${TOKEN_COLUMNS}`,
)

/** Serializes transactions that count a workspace's objects and then insert one. */
export const lockWorkspace = statement<{ id: string }, [workspaceId: string]>(
  'lock-workspace',
  'select id from organization where id = $1 and deletion_due_at is null for no key update',
)

export const countTokens = statement<{ count: number }, [workspaceId: string]>(
  'count-tokens',
  `select count(*) as count from api_keys k where workspace_id = $1 and ${LIVE}`,
)

/**
 * Revokes the caller's own key in any workspace, or any key of a workspace whose keys the caller may manage. No row:
 * the key does not exist, or was revoked before.
 */
export const revokeToken = statement<
  { workspace_id: string; name: string },
  [prefix: string, userId: string, managedWorkspaceId: string | null]
>(
  'revoke-token',
  `update api_keys set revoked_at = now()
   where prefix = $1 and revoked_at is null and (created_by = $2 or workspace_id = $3) returning workspace_id, name`,
)

/** Revokes the user's own keys in every workspace. */
export const revokeTokensOfUser = statement<{ prefix: string; workspace_id: string; name: string }, [userId: string]>(
  'revoke-tokens-of-user',
  `update api_keys set revoked_at = now()
   where created_by = $1 and revoked_at is null returning prefix, workspace_id, name`,
)

/** Revokes the keys of a member who leaves. */
export const revokeTokensOfMember = statement<{ prefix: string }, [workspaceId: string, userId: string]>(
  'revoke-tokens-of-member',
  `update api_keys set revoked_at = now()
   where workspace_id = $1 and created_by = $2 and revoked_at is null returning prefix`,
)

export const touchApiKeys = statement<never, [prefixes: readonly string[]]>(
  'touch-api-keys',
  'update api_keys set last_used_at = now() where prefix = any($1)',
)
