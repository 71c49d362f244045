import { statement } from '../db/statement.ts'
import { sandboxColumns, type SandboxRow } from '../sandboxes/sandbox-row.ts'

export type KeyAndSandboxRow = {
  readonly key_hash: Buffer
  readonly key_workspace_id: string
  readonly key_last_used_at: Date | null
} & ({ readonly [Column in keyof SandboxRow]: SandboxRow[Column] } | { readonly id: null })

/**
 * A live key by its public part and, in the same round trip, the sandbox the route names, if it is that workspace's:
 * this statement is the whole cost of admission on the hot routes.
 */
export const keyAndSandbox = statement<KeyAndSandboxRow, [prefix: string, sandboxId: string | null]>(
  'key-and-sandbox',
  `select k.hash as key_hash, k.workspace_id as key_workspace_id, k.last_used_at as key_last_used_at,
     ${sandboxColumns('s')}
   from api_keys k left join sandboxes s on s.id = $2 and s.workspace_id = k.workspace_id
   where k.prefix = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`,
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
