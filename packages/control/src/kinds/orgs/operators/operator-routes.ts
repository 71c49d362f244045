import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import {
  createOperatorBody,
  type Operator,
  operator,
  operatorsQuery,
  patchOperatorBody,
} from '@offshoot/contract/operator'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { z } from 'zod'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody, parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, listPage } from '../../../platform/http/page-of.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import {
  changeOperator,
  insertOperator,
  lockOwners,
  OPERATOR_ORDER,
  operatorById,
  type OperatorRow,
  ownersLeft,
  removeOperator,
  revokeKeysOfOperator,
  SELECT_OPERATORS,
} from '../identity/operator-statements.ts'

const TAG = 'Operators'
const URL = '/v1/admin/operators'

/** `GET`, `POST /v1/admin/operators`, `GET`, `PATCH`, `DELETE …/{id}`: those who operate the service (docs/operators.md). */
export function operatorRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { pool } = control.database
  app.get(URL, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'List the operators, newest first',
        tag: TAG,
        query: operatorsQuery,
        status: 200,
        answer: z.array(operator),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<Operator[]> => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(operatorsQuery, request.query)
      const rows = await listPage(control, request, reply, {
        order: OPERATOR_ORDER,
        owner: '',
        select: SELECT_OPERATORS,
        where: [...equals('name', query.name), ...equals('role', query.role), ...createdBetween('created_at', query)],
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
        summary: 'Add an operator, who has no key yet',
        tag: TAG,
        body: createOperatorBody,
        status: 201,
        answer: operator,
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const { name, role } = parseBody(request, createOperatorBody)
      const made = await transaction(pool, async (client) => {
        const [row] = await insertOperator(client, name, role)
        if (row === undefined) throw new Error('insert gave no row')
        await record(client, request, 'operator.created', row.id, { name, role })
        return row
      })
      return reply.code(201).send(present(made))
    },
  })
  app.get(`${URL}/:id`, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: { summary: 'Read one operator', tag: TAG, status: 200, answer: operator, errors: ['notFound'] },
    },
    handler: async (request) => present(await findOperator(pool, request)),
  })
  app.patch(`${URL}/:id`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'owner',
      docs: {
        summary: 'Rename an operator, or change the role',
        tag: TAG,
        body: patchOperatorBody,
        status: 200,
        answer: operator,
        errors: ['invalidField', 'notFound', 'conflict'],
      },
    },
    handler: async (request) => {
      const body = parseBody(request, patchOperatorBody)
      const changed = await keepingAnOwner(pool, async (client) => {
        const { id, ...from } = await findOperator(client, request)
        const [row] = await changeOperator(client, id, body.name ?? from.name, body.role ?? from.role)
        if (row === undefined) throw new Error('update gave no row')
        const { name, role } = row
        const details = { from: { name: from.name, role: from.role }, to: { name, role } }
        await record(client, request, 'operator.updated', id, details)
        return row
      })
      return present(changed)
    },
  })
  app.delete(`${URL}/:id`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'owner',
      docs: { summary: 'Remove an operator and its keys', tag: TAG, status: 204, errors: ['notFound', 'conflict'] },
    },
    handler: async (request, reply) => {
      await keepingAnOwner(pool, async (client) => {
        const { id, name, role } = await findOperator(client, request)
        await removeOperator(client, id)
        const keys = await revokeKeysOfOperator(client, id)
        const details = { name, role, keys_revoked: keys.map(({ prefix }) => prefix) }
        await record(client, request, 'operator.removed', id, details)
      })
      return reply.code(204).send()
    },
  })
}

/**
 * Runs a change of operators or of their keys. Such changes run one after the other, because two owners could otherwise
 * remove each other.
 *
 * @throws ApiError 409 if no owner with a valid key would be left
 */
export function keepingAnOwner<T>(pool: pg.Pool, change: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return transaction(pool, async (client) => {
    await lockOwners(client)
    const changed = await change(client)
    const [left] = await ownersLeft(client)
    if (left?.count === 0) throw new ApiError('conflict', { detail: 'no owner with a valid key would be left' })
    return changed
  })
}

/** The operator in the path. @throws ApiError 404 */
export async function findOperator(on: pg.Pool | pg.PoolClient, { params }: FastifyRequest): Promise<OperatorRow> {
  const { id } = params as { id: string }
  const [row] = isUuid(id) ? await operatorById(on, id) : []
  if (row === undefined) throw new ApiError('notFound')
  return row
}

async function record(
  client: pg.PoolClient,
  request: FastifyRequest,
  action: 'operator.created' | 'operator.updated' | 'operator.removed',
  target: string,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAuditEvent(client, actorOf(request), { workspaceId: null, action, target, details })
}

function present({ created_at: createdAt, ...row }: OperatorRow): Operator {
  return { ...row, created_at: createdAt.toISOString() }
}
