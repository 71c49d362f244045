import { isPermitted } from '@offshoot/contract/role'
import { type Token, token, tokenListQuery } from '@offshoot/contract/token'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { OrgsContext } from './orgs-context.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, equalsId, type ListOrder, listPage } from '../../../platform/http/page-of.ts'
import { TOKEN_COLUMNS, type TokenRow } from './api-key-statements.ts'
import { presentToken } from './present-token.ts'

const ORDER: ListOrder<TokenRow> = {
  name: 'tokens',
  direction: 'desc',
  keys: [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'prefix', type: 'text', of: ({ prefix }) => prefix },
  ],
}

/**
 * `GET /v1/me/tokens`: the keys of the current workspace that the caller may revoke. An expired key is listed until it
 * is revoked.
 */
export function getTokens(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/me/tokens', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'List API keys, newest first',
        tag: 'Identity',
        query: tokenListQuery,
        status: 200,
        answer: z.array(token),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<Token[]> => {
      const query = parseWith(tokenListQuery, request.query)
      const { workspaceId, user, role } = userOf(request)
      const maker = isPermitted(role, 'tokens:manage') ? undefined : user.id
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${TOKEN_COLUMNS} from api_keys`,
        where: [
          sql`workspace_id = ${workspaceId} and revoked_at is null`,
          ...equalsId('created_by', maker),
          ...equalsId('created_by', query.created_by),
          ...equals('name', query.name),
          ...equals('(expires_at is not null and expires_at <= now())', query.expired),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      return rows.map(presentToken)
    },
  })
}
