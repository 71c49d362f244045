import { isPermitted } from '@offshoot/contract/role'
import { type Token, token } from '@offshoot/contract/token'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { OrgsContext } from '../orgs-context.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { tokensOfWorkspace } from './api-key-statements.ts'
import { presentToken } from './present-token.ts'

/**
 * `GET /v1/me/tokens`: the keys of the current workspace that the caller may revoke. An expired key is listed until it
 * is revoked.
 */
export function getTokens(app: FastifyInstance, { database }: OrgsContext): void {
  app.get('/v1/me/tokens', {
    config: {
      credential: 'jwt',
      docs: { summary: 'List API keys, newest first', tag: 'Identity', status: 200, answer: z.array(token) },
    },
    handler: async (request): Promise<Token[]> => {
      const { workspaceId, user, role } = userOf(request)
      const maker = isPermitted(role, 'tokens:manage') ? null : user.id
      return (await tokensOfWorkspace(database.pool, workspaceId, maker)).map(presentToken)
    },
  })
}
