import { ApiError } from '@offshoot/contract/errors'
import { isPermitted } from '@offshoot/contract/role'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './orgs-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { isApiKeyPrefix } from './api-key.ts'
import { revokeToken, revokeTokensOfUser } from './api-key-statements.ts'

/** `DELETE /v1/me/tokens/{prefix}`: revokes a key. Within a second, every process refuses it. */
export function deleteToken(app: FastifyInstance, { database, keys }: OrgsContext): void {
  app.delete('/v1/me/tokens/:prefix', {
    config: {
      audit: 'own',
      credential: 'jwt',
      docs: { summary: 'Revoke an API key', tag: 'Identity', status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      const { workspaceId, user, role } = userOf(request)
      const { prefix } = request.params as { prefix: string }
      if (!isApiKeyPrefix(prefix)) throw new ApiError('notFound')
      await transaction(database.pool, async (client) => {
        const managed = isPermitted(role, 'tokens:manage') ? workspaceId : null
        const [revoked] = await revokeToken(client, prefix, user.id, managed)
        if (revoked === undefined) throw new ApiError('notFound')
        const { workspace_id, name } = revoked
        await recordAuditEvent(client, actorOf(request), {
          workspaceId: workspace_id,
          action: 'token.revoked',
          target: prefix,
          details: { name },
        })
      })
      keys.forget(prefix)
      return reply.code(204).send()
    },
  })
}

/** `DELETE /v1/me/tokens`: revokes all keys that the caller made, in every workspace. */
export function deleteTokens(app: FastifyInstance, { database, keys }: OrgsContext): void {
  app.delete('/v1/me/tokens', {
    config: {
      credential: 'jwt',
      docs: { summary: 'Revoke all API keys that you made', tag: 'Identity', status: 204 },
    },
    handler: async (request, reply) => {
      const { user } = userOf(request)
      const revoked = await transaction(database.pool, async (client) => {
        const rows = await revokeTokensOfUser(client, user.id)
        for (const { prefix, workspace_id: workspaceId, name } of rows) {
          const event = { workspaceId, action: 'token.revoked', target: prefix, details: { name } } as const
          await recordAuditEvent(client, actorOf(request), event)
        }
        return rows
      })
      for (const { prefix } of revoked) keys.forget(prefix)
      return reply.code(204).send()
    },
  })
}
