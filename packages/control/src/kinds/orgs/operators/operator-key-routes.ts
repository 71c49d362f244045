import { ApiError } from '@offshoot/contract/errors'
import {
  type CreatedOperatorKey,
  createdOperatorKey,
  createOperatorKeyBody,
  type OperatorKey,
  operatorKey,
  operatorKeysQuery,
} from '@offshoot/contract/operator'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { parseBody, parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, listPage } from '../../../platform/http/page-of.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { mintOperatorKey } from '../identity/operator-keys.ts'
import { findOperator, keepingAnOwner } from './operator-routes.ts'
import {
  insertOperatorKey,
  OPERATOR_KEY_ORDER,
  type OperatorKeyRow,
  revokeOperatorKey,
  SELECT_OPERATOR_KEYS,
} from '../identity/operator-statements.ts'

const TAG = 'Operators'
const URL = '/v1/admin/operators/:id/keys'

/** `GET`, `POST /v1/admin/operators/{id}/keys`, `DELETE …/{prefix}`. Only the answer of `POST` contains a secret. */
export function operatorKeyRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { pool } = control.database
  app.get(URL, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'List the keys of an operator, newest first',
        tag: TAG,
        query: operatorKeysQuery,
        status: 200,
        answer: z.array(operatorKey),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply): Promise<OperatorKey[]> => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(operatorKeysQuery, request.query)
      const { id } = await findOperator(pool, request)
      const rows = await listPage(control, request, reply, {
        order: OPERATOR_KEY_ORDER,
        owner: id,
        select: SELECT_OPERATOR_KEYS,
        where: [
          sql`operator_id = ${id}`,
          sql`revoked_at is null`,
          ...equals('name', query.name),
          ...equals('coalesce(expires_at <= now(), false)', query.expired),
          ...createdBetween('created_at', query),
        ],
        query: { ...query, limit },
      })
      return rows.map((row) => present(row))
    },
  })
  app.post(URL, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'owner',
      docs: {
        summary: 'Make a key of an operator',
        tag: TAG,
        body: createOperatorKeyBody,
        status: 201,
        answer: createdOperatorKey,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const { name, expires_in_days: days = null } = parseBody(request, createOperatorKeyBody)
      const made = await keepingAnOwner(pool, async (client): Promise<CreatedOperatorKey> => {
        const { id } = await findOperator(client, request)
        for (;;) {
          const { key, prefix, hash } = mintOperatorKey()
          const [row] = await insertOperatorKey(client, prefix, id, hash, name, days)
          // The prefix is taken.
          if (row === undefined) continue
          const details = { name, operator_id: id, expires_at: row.expires_at }
          const event = { workspaceId: null, action: 'operator_key.created', target: prefix, details } as const
          await recordAuditEvent(client, actorOf(request), event)
          return { ...present(row), key }
        }
      })
      return reply.code(201).header('cache-control', 'no-store').send(made)
    },
  })
  app.delete(`${URL}/:prefix`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'owner',
      docs: { summary: 'Revoke a key of an operator', tag: TAG, status: 204, errors: ['notFound', 'conflict'] },
    },
    handler: async (request, reply) => {
      const { prefix } = request.params as { prefix: string }
      await keepingAnOwner(pool, async (client) => {
        const { id } = await findOperator(client, request)
        const [revoked] = prefix.includes('\0') ? [] : await revokeOperatorKey(client, id, prefix)
        if (revoked === undefined) throw new ApiError('notFound')
        const details = { name: revoked.name, operator_id: id }
        const event = { workspaceId: null, action: 'operator_key.revoked', target: prefix, details } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      return reply.code(204).send()
    },
  })
}

function present({
  created_at: createdAt,
  expires_at: expiresAt,
  last_used_at: lastUsedAt,
  ...row
}: OperatorKeyRow): OperatorKey {
  return {
    ...row,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    last_used_at: lastUsedAt?.toISOString() ?? null,
  }
}
