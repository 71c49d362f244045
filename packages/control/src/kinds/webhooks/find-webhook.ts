import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../platform/http/caller.ts'
import type { WholeDeliveryRow } from './model/delivery-row.ts'
import type { WebhookRow } from './model/webhook-row.ts'
import { deliveryOfWebhook, webhookOfWorkspace } from './model/webhook-statements.ts'
import type { WebhooksContext } from './model/webhooks-context.ts'

/** The webhook in the path. @throws ApiError 404, also for a webhook of another workspace */
export async function findWebhook({ database }: WebhooksContext, request: FastifyRequest): Promise<WebhookRow> {
  const { id } = request.params as { id: string }
  const [row] = isUuid(id) ? await webhookOfWorkspace(database.pool, id, callerOf(request).workspaceId) : []
  if (row === undefined) throw new ApiError('notFound')
  return row
}

/** The delivery in the path, and its webhook. @throws ApiError 404 */
export async function findDelivery(
  control: WebhooksContext,
  request: FastifyRequest,
): Promise<{ webhook: WebhookRow; delivery: WholeDeliveryRow }> {
  const webhook = await findWebhook(control, request)
  const { delivery_id: id } = request.params as { delivery_id: string }
  const [delivery] = isUuid(id) ? await deliveryOfWebhook(control.database.pool, id, webhook.id) : []
  if (delivery === undefined) throw new ApiError('notFound')
  return { webhook, delivery }
}

/** @throws ApiError 409 */
export function mustBeEnabled({ enabled }: WebhookRow): void {
  if (!enabled) throw new ApiError('conflict', { detail: 'the webhook is disabled' })
}
