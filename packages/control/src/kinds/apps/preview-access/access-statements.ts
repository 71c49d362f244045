import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Manager } from '../../../fleet/sandbox-row.ts'
import { statement } from '../../../platform/db/statement.ts'

/** Codes of one user that are valid at the same time. */
const MAX_CODES = 50

export interface OwnerRow {
  readonly workspace_id: WorkspaceId
  readonly managed_by: Manager['by'] | null
}

export const ownerOfPreviewSandbox = statement<OwnerRow, [id: string]>(
  'owner-of-preview-sandbox',
  'select workspace_id, managed_by from sandboxes where id = $1 and deletion_due_at is null',
)

export const ownerOfPreviewApp = statement<Pick<OwnerRow, 'workspace_id'>, [id: string]>(
  'owner-of-preview-app',
  'select workspace_id from apps where id = $1 and deletion_due_at is null',
)

/** @param label a host label of an app: its id or its name's; @param domain a verified domain */
export const appOfAddress = statement<{ id: string }, [label: string | null, domain: string | null]>(
  'app-of-address',
  `select id from apps where deletion_due_at is null and (id::text = $1 or host = $1
     or id = (select o.app_id from app_domains o where o.domain = $2 and o.verified_at is not null))`,
)

/** A row while the session lives and its user is a member of the workspace. */
export const memberInSession = statement<{ id: string }, [userId: string, sessionId: string, workspaceId: string]>(
  'member-in-session',
  `select m.id from member m join organization o on o.id = m."organizationId" and o.deletion_due_at is null
   where m."userId" = $1 and m."organizationId" = $3
     and exists (select from session s where s.id = $2 and s."userId" = $1 and s."expiresAt" > now())`,
)

/** No row: the user has {@link MAX_CODES}. */
export const insertCode = statement<
  { user_id: string },
  [codeHash: Buffer, userId: string, sessionId: string, origin: string, state: string, seconds: number]
>(
  'insert-preview-code',
  `insert into preview_codes (code_hash, user_id, session_id, origin, state, expires_at)
   select $1::bytea, $2::uuid, $3::uuid, $4, $5, now() + make_interval(secs => $6)
   where (select count(*) from preview_codes where user_id = $2 and expires_at > now()) < ${MAX_CODES}
   returning user_id`,
)

/** A code is used once: even a use for another origin ends it. */
export const takeCode = statement<
  { user_id: string; session_id: string; is_valid: boolean | null },
  [codeHash: Buffer, origin: string, state: string]
>(
  'take-preview-code',
  `delete from preview_codes where code_hash = $1
   returning user_id, session_id, expires_at > now() and origin = $2 and state = $3 as is_valid`,
)

export const removeOldCodes = statement<never, []>(
  'remove-old-preview-codes',
  'delete from preview_codes where expires_at < now()',
)
