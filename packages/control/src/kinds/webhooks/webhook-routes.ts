import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { PLANS } from '@offshoot/contract/plan'
import {
  createWebhookBody,
  type CreateWebhookBody,
  DEFAULT_OVERLAP_SECONDS,
  patchWebhookBody,
  rotateSecretBody,
  webhook,
  webhookListQuery,
  webhookWithSecret,
} from '@offshoot/contract/webhook'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { parseBody, parseWith } from '../../platform/http/body.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { accountOfWorkspace, lockAccount } from '../orgs/identity/account-statements.ts'
import { mintSecret } from './delivery/signature.ts'
import { findWebhook } from './find-webhook.ts'
import { presentWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './model/webhook-row.ts'
import {
  countWebhooks,
  deleteWebhookRow,
  insertWebhook,
  patchWebhookRow,
  rotateWebhookSecret,
} from './model/webhook-statements.ts'
import type { WebhooksContext } from './model/webhooks-context.ts'

const TAG = 'Webhooks'
const ORDER: ListOrder<WebhookRow> = newestFirst('webhooks', 'w')

export function webhookRoutes(app: FastifyInstance, control: WebhooksContext): void {
  const { database, webhookSecrets } = control
  app.post('/v1/webhooks', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Create a webhook; the answer shows its secret once',
        tag: TAG,
        body: createWebhookBody,
        status: 201,
        answer: webhookWithSecret,
        errors: ['invalidField', 'tooManyWebhooks'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const body = parseBody(request, createWebhookBody)
      const secret = mintSecret()
      const row = await createWebhook(control, workspaceId, resourceIdOf(request), body, webhookSecrets.close(secret))
      return reply.code(201).send({ ...presentWebhook(row), secret })
    },
  })
  app.get('/v1/webhooks', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List webhooks, newest first',
        tag: TAG,
        query: webhookListQuery,
        status: 200,
        answer: z.array(webhook),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const query = parseWith(webhookListQuery, request.query)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${WEBHOOK_COLUMNS} from webhooks w`,
        where: [
          sql`w.workspace_id = ${workspaceId}`,
          ...equals('w.enabled', query.enabled === undefined ? undefined : query.enabled === 'true'),
          ...createdBetween('w.created_at', query),
        ],
        query,
      })
      return rows.map(presentWebhook)
    },
  })
  app.get('/v1/webhooks/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Read one webhook', tag: TAG, status: 200, answer: webhook, errors: ['notFound'] },
    },
    handler: async (request) => presentWebhook(await findWebhook(control, request)),
  })
  app.patch('/v1/webhooks/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Change a webhook, disable or enable it',
        tag: TAG,
        body: patchWebhookBody,
        status: 200,
        answer: webhook,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findWebhook(control, request)
      const { url, events, objects, description, enabled } = parseBody(request, patchWebhookBody)
      const [row] = await patchWebhookRow(
        database.pool,
        id,
        url ?? null,
        events ?? null,
        objects ?? null,
        description ?? null,
        enabled ?? null,
      )
      if (row === undefined) throw new ApiError('notFound')
      return presentWebhook(row)
    },
  })
  app.delete('/v1/webhooks/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Delete a webhook and its deliveries', tag: TAG, status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      await deleteWebhookRow(database.pool, (await findWebhook(control, request)).id)
      return reply.code(204).send()
    },
  })
  app.post('/v1/webhooks/:id/rotate-secret', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Give a webhook a new secret; the old one signs for a while, too',
        tag: TAG,
        body: rotateSecretBody,
        status: 200,
        answer: webhookWithSecret,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findWebhook(control, request)
      const { overlap_seconds: seconds = DEFAULT_OVERLAP_SECONDS } = parseBody(request, rotateSecretBody)
      const secret = mintSecret()
      const [row] = await rotateWebhookSecret(database.pool, id, webhookSecrets.close(secret), seconds)
      if (row === undefined) throw new ApiError('notFound')
      return { ...presentWebhook(row), secret }
    },
  })
}

/** The lock makes concurrent creates of a workspace count one after the other. @throws ApiError 429 */
async function createWebhook(
  { database: { pool }, config }: WebhooksContext,
  workspaceId: WorkspaceId,
  id: string,
  { url, events = ['*'], objects = [], description }: CreateWebhookBody,
  secret: Buffer,
): Promise<WebhookRow> {
  await accountOfWorkspace(pool, workspaceId, config.limits.default_plan)
  return transaction(pool, async (client) => {
    const [account] = await lockAccount(client, workspaceId)
    if (account === undefined) throw new ApiError('notFound')
    const max = PLANS[account.plan].webhooks
    const [{ count } = { count: 0 }] = await countWebhooks(client, workspaceId)
    if (count >= max) throw new ApiError('tooManyWebhooks', { max, active: count })
    const [row] = await insertWebhook(client, id, workspaceId, url, events, objects, description ?? null, secret)
    if (row === undefined) throw new Error('insert gave no row')
    return row
  })
}
