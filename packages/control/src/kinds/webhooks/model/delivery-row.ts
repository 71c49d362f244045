import type { WebhookAttempt, WebhookDelivery } from '@offshoot/contract/webhook'

/** A row of `webhook_deliveries`, without its payload and its log. */
export interface DeliveryRow {
  readonly id: string
  readonly webhook_id: string
  readonly type: string
  readonly status: WebhookDelivery['status']
  readonly attempts: number
  readonly response_status: number | null
  readonly duration_ms: number | null
  readonly error: string | null
  readonly due_at: Date | null
  readonly created_at: Date
  readonly finished_at: Date | null
}

export interface WholeDeliveryRow extends DeliveryRow {
  readonly payload: Record<string, unknown>
  readonly log: WebhookAttempt[]
}

export const DELIVERY_COLUMNS = `d.id, d.webhook_id, d.type, d.status, d.attempts, d.response_status, d.duration_ms, d.error,
  d.due_at, d.created_at, d.finished_at`

export function presentDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    type: row.type,
    status: row.status,
    attempts: row.attempts,
    response_status: row.response_status,
    duration_ms: row.duration_ms,
    error: row.error,
    next_attempt_at: row.due_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
