import type { Webhook } from '@offshoot/contract/webhook'
import type { WorkspaceId } from '@offshoot/contract/ids'

/** A row of `webhooks`, without its secrets. */
export interface WebhookRow {
  readonly id: string
  readonly workspace_id: WorkspaceId
  /** May contain a secret of the receiver. Never log it. */
  readonly url: string
  readonly events: string[]
  readonly objects: string[]
  readonly description: string | null
  readonly enabled: boolean
  readonly disabled_reason: Webhook['disabled_reason']
  readonly disabled_at: Date | null
  readonly failing_since: Date | null
  /** Until when the previous secret signs, too. */
  readonly previous_until: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

export const WEBHOOK_COLUMNS = `w.id, w.workspace_id, w.url, w.events, w.objects, w.description, w.enabled, w.disabled_reason,
  w.disabled_at, w.failing_since, w.previous_until, w.created_at, w.updated_at`

export function presentWebhook(row: WebhookRow): Webhook {
  const { previous_until: until } = row
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    objects: row.objects,
    description: row.description,
    enabled: row.enabled,
    disabled_reason: row.disabled_reason,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    failing_since: row.failing_since?.toISOString() ?? null,
    overlap_until: until !== null && until.getTime() > Date.now() ? until.toISOString() : null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}
