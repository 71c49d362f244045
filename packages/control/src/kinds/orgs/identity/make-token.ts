import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { type CreatedToken, type CreateTokenBody, MAX_TOKENS } from '@offshoot/contract/token'
import type pg from 'pg'
import type { Actor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { mintApiKey } from './api-key.ts'
import { countTokens, insertApiKey, lockWorkspace, type TokenRow } from './api-key-statements.ts'
import { presentToken } from './present-token.ts'

export interface TokenRequest {
  readonly workspaceId: WorkspaceId
  readonly userId: string
  readonly body: CreateTokenBody
}

/** @throws ApiError 404 if the workspace was deleted meanwhile, 429 if it has the maximum number of keys */
export async function makeToken(pool: pg.Pool, actor: Actor, request: TokenRequest): Promise<CreatedToken> {
  const { workspaceId } = request
  return transaction(pool, async (client) => {
    const [workspace] = await lockWorkspace(client, workspaceId)
    if (workspace === undefined) throw new ApiError('notFound')
    const [counted] = await countTokens(client, workspaceId)
    const active = counted?.count ?? 0
    if (active >= MAX_TOKENS) throw new ApiError('tooManyTokens', { max: MAX_TOKENS, active })
    const { key, row } = await insertUnique(client, request)
    const { name, scopes } = row
    await recordAuditEvent(client, actor, {
      workspaceId,
      action: 'token.created',
      target: row.prefix,
      details: { name, scopes },
    })
    return { token: key, ...presentToken(row) }
  })
}

/** A prefix is drawn from 62^8 values. If it is taken, another one is drawn. */
async function insertUnique(
  client: pg.PoolClient,
  { workspaceId, userId, body }: TokenRequest,
): Promise<{ key: string; row: TokenRow }> {
  const { name, scopes = null, expires_in_days: days = null } = body
  for (;;) {
    const { key, prefix, hash } = mintApiKey()
    const [row] = await insertApiKey(client, prefix, hash, workspaceId, name, userId, scopes, days)
    if (row !== undefined) return { key, row }
  }
}
