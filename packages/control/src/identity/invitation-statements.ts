import { statement } from '../db/statement.ts'

const OPEN = 'i.expires_at > now()'

/** Any, to any workspace that is still there. */
export const openInvitation = statement<{ id: string }, [email: string]>(
  'open-invitation',
  `select i.id from invitations i join organization o on o.id = i.workspace_id and o.deletion_due_at is null
   where i.email = $1 and ${OPEN} limit 1`,
)
