import { isAbandoned } from '../db/abandoned.ts'
import { statement } from '../db/statement.ts'

/** How long a key refers to its first request. */
const KEPT = `interval '24 hours'`

/** Gives the row to the one caller who may carry out the request. An expired row counts as none. */
export const claimRequest = statement<
  { key: string },
  [workspaceId: string, key: string, fingerprint: Buffer, creator: number, resourceId: string]
>(
  'claim-idempotent-request',
  `insert into idempotent_requests as r (workspace_id, key, fingerprint, creator, resource_id)
   values ($1, $2, $3, $4, $5)
   on conflict (workspace_id, key) do update set fingerprint = excluded.fingerprint, creator = excluded.creator,
     resource_id = excluded.resource_id, status = null, answer = null, created_at = now()
     where r.created_at < now() - ${KEPT}
   returning key`,
)

export interface FirstRequestRow {
  readonly fingerprint: Buffer
  readonly resource_id: string
  readonly status: number | null
  readonly answer: Buffer | null
  /** The first request was abandoned: no process works on it any more. */
  readonly is_abandoned: boolean
}

export const firstRequest = statement<FirstRequestRow, [workspaceId: string, key: string, deadlineSeconds: number]>(
  'first-idempotent-request',
  `select r.fingerprint, r.resource_id, r.status, r.answer, ${isAbandoned('r', '$3')} as is_abandoned
   from idempotent_requests r where workspace_id = $1 and key = $2`,
)

/** Several callers may find the request abandoned. One of them takes it over, under a new resource id. */
export const takeOverRequest = statement<
  { key: string },
  [workspaceId: string, key: string, abandonedId: string, creator: number, resourceId: string]
>(
  'take-over-idempotent-request',
  `update idempotent_requests set creator = $4, resource_id = $5
   where workspace_id = $1 and key = $2 and resource_id = $3 and status is null returning key`,
)

export const keepAnswer = statement<
  never,
  [workspaceId: string, key: string, resourceId: string, status: number, answer: Buffer]
>(
  'keep-idempotent-answer',
  `update idempotent_requests set status = $4, answer = $5
   where workspace_id = $1 and key = $2 and resource_id = $3 and status is null`,
)

/** A refused request created nothing, so the key becomes free again. */
export const forgetRequest = statement<never, [workspaceId: string, key: string, resourceId: string]>(
  'forget-idempotent-request',
  'delete from idempotent_requests where workspace_id = $1 and key = $2 and resource_id = $3 and status is null',
)

export const removeOldRequests = statement<never, []>(
  'remove-old-idempotent-requests',
  `delete from idempotent_requests where created_at < now() - ${KEPT}`,
)
