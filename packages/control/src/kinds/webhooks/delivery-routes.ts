import {
  redeliverBody,
  redelivered,
  webhookDelivery,
  webhookDeliveryDetails,
  webhookDeliveryListQuery,
} from '@offshoot/contract/webhook'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { parseBody, parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import type { Queryable } from '../../platform/db/statement.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { scheduleDelivery } from './delivery/delivery-statements.ts'
import { findDelivery, findWebhook, mustBeEnabled } from './find-webhook.ts'
import { DELIVERY_COLUMNS, type DeliveryRow, presentDelivery } from './model/delivery-row.ts'
import { insertDelivery, redeliver, redeliverFailed } from './model/webhook-statements.ts'
import type { WebhooksContext } from './model/webhooks-context.ts'

const TAG = 'Webhooks'
const ORDER: ListOrder<DeliveryRow> = newestFirst('webhook-deliveries', 'd')

export function deliveryRoutes(app: FastifyInstance, control: WebhooksContext): void {
  const { database } = control
  app.get('/v1/webhooks/:id/deliveries', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the deliveries of a webhook, newest first',
        tag: TAG,
        query: webhookDeliveryListQuery,
        status: 200,
        answer: z.array(webhookDelivery),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findWebhook(control, request)
      const query = parseWith(webhookDeliveryListQuery, request.query)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${DELIVERY_COLUMNS} from webhook_deliveries d`,
        where: [
          sql`d.webhook_id = ${id}`,
          ...equals('d.status', query.status),
          ...equals('d.type', query.type),
          ...createdBetween('d.created_at', query),
        ],
        query: { ...query, limit: query.limit ?? DEFAULT_LIST_LIMIT },
      })
      return rows.map(presentDelivery)
    },
  })
  app.get('/v1/webhooks/:id/deliveries/:delivery_id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read one delivery with its body and its attempts',
        tag: TAG,
        status: 200,
        answer: webhookDeliveryDetails,
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const { delivery } = await findDelivery(control, request)
      return { ...presentDelivery(delivery), payload: delivery.payload, log: delivery.log }
    },
  })
  app.post('/v1/webhooks/:id/deliveries/:delivery_id/redeliver', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Send a delivery again',
        tag: TAG,
        status: 202,
        answer: webhookDelivery,
        errors: ['notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const { webhook, delivery } = await findDelivery(control, request)
      mustBeEnabled(webhook)
      const row = await withJob(webhook.id, (client) => redeliver(client, delivery.id))
      return reply.code(202).send(presentDelivery(row))
    },
  })
  app.post('/v1/webhooks/:id/redeliver', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Send all failed deliveries since a time again',
        tag: TAG,
        body: redeliverBody,
        status: 202,
        answer: redelivered,
        errors: ['invalidField', 'notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const webhook = await findWebhook(control, request)
      const { since } = parseBody(request, redeliverBody)
      mustBeEnabled(webhook)
      return reply.code(202).send(await withJob(webhook.id, (client) => redeliverFailed(client, webhook.id, since)))
    },
  })
  app.post('/v1/webhooks/:id/test', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Send a message of the type webhook.test',
        tag: TAG,
        status: 202,
        answer: webhookDelivery,
        errors: ['notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const webhook = await findWebhook(control, request)
      mustBeEnabled(webhook)
      const type = 'webhook.test'
      const payload = JSON.stringify({ type, timestamp: new Date().toISOString(), data: { webhook_id: webhook.id } })
      const row = await withJob(webhook.id, (client) => insertDelivery(client, webhook.id, type, payload))
      return reply.code(202).send(presentDelivery(row))
    },
  })

  /** A change of deliveries and the job that sends them, in one transaction. */
  async function withJob<T>(webhookId: string, change: (client: Queryable) => Promise<T[]>): Promise<T> {
    return transaction(database.pool, async (client) => {
      const [row] = await change(client)
      if (row === undefined) throw new Error('the delivery has gone')
      await scheduleDelivery(client, webhookId, 0)
      return row
    })
  }
}
