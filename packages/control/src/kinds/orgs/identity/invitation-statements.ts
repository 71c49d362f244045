import type { WorkspaceId } from '@offshoot/contract/ids'
import { INVITATION_DAYS } from '@offshoot/contract/org'
import { statement } from '../../../platform/db/statement.ts'

export interface InvitationRow {
  readonly id: string
  readonly email: string
  readonly role: 'admin' | 'member'
  readonly created_at: Date
  readonly expires_at: Date
}

/** The select list of an {@link InvitationRow}, for an alias `i`. */
export const INVITATION_COLUMNS = 'i.id, i.email, i.role, i.created_at, i.expires_at'
/** The condition of an open invitation. */
export const OPEN = 'i.expires_at > now()'

/** Finds an open invitation of this address to any workspace that still exists. */
export const openInvitation = statement<{ id: string }, [email: string]>(
  'open-invitation',
  `select i.id from invitations i join organization o on o.id = i.workspace_id and o.deletion_due_at is null
   where i.email = $1 and ${OPEN} limit 1`,
)

/** Replaces an earlier invitation of the same address. Only the newest mail's token is valid. */
export const insertInvitation = statement<
  InvitationRow,
  [workspaceId: string, email: string, role: string, tokenHash: Buffer, invitedBy: string]
>(
  'insert-invitation',
  `insert into invitations as i (workspace_id, email, role, token_hash, invited_by, expires_at)
   values ($1, $2, $3, $4, $5, now() + interval '${INVITATION_DAYS} days')
   on conflict (workspace_id, email) do update set id = gen_random_uuid(), role = excluded.role,
     token_hash = excluded.token_hash, invited_by = excluded.invited_by, created_at = now(), expires_at = excluded.expires_at
   returning ${INVITATION_COLUMNS}`,
)

export const removeInvitation = statement<{ email: string }, [workspaceId: string, id: string]>(
  'remove-invitation',
  'delete from invitations where workspace_id = $1 and id = $2 returning email',
)

/** Locks the row, so that only one of two concurrent requests accepts the invitation. */
export const invitationByToken = statement<InvitationRow & { readonly workspace_id: WorkspaceId }, [tokenHash: Buffer]>(
  'invitation-by-token',
  `select ${INVITATION_COLUMNS}, i.workspace_id from invitations i
   join organization o on o.id = i.workspace_id and o.deletion_due_at is null
   where token_hash = $1 and ${OPEN} for update of i`,
)

/** Counts members and open invitations to other addresses than this one. */
export const takenSeats = statement<{ seats: number; is_member: boolean }, [workspaceId: string, email: string]>(
  'taken-seats',
  `select (select count(*) from member where "organizationId" = $1)
        + (select count(*) from invitations i where workspace_id = $1 and email <> $2 and ${OPEN}) as seats,
     exists (select from member m join "user" u on u.id = m."userId" where m."organizationId" = $1 and u.email = $2)
       as is_member`,
)

/** A user with the token from the mail controls the address. */
export const confirmAddress = statement<never, [userId: string]>(
  'confirm-address',
  `update "user" set "emailVerified" = true, "updatedAt" = now() where id = $1 and not "emailVerified"`,
)

export const removeOldInvitations = statement<never, []>(
  'remove-old-invitations',
  `delete from invitations where expires_at < now() - interval '1 day'`,
)
