import { statement } from '../../../platform/db/statement.ts'

export interface SshKeyRow {
  readonly id: string
  readonly name: string
  readonly blob: Buffer
  readonly fingerprint: string
  readonly created_at: Date
  readonly last_used_at: Date | null
}

/** The select list of an {@link SshKeyRow}. */
export const SSH_KEY_COLUMNS = 'id, name, blob, fingerprint, created_at, last_used_at'

export const countSshKeys = statement<{ count: number }, [userId: string]>(
  'count-ssh-keys',
  'select count(*) as count from ssh_keys where user_id = $1',
)

/** No row: the user has this key already. */
export const insertSshKey = statement<SshKeyRow, [userId: string, name: string, blob: Buffer, fingerprint: string]>(
  'insert-ssh-key',
  `insert into ssh_keys (user_id, name, blob, fingerprint) values ($1, $2, $3, $4)
   on conflict (user_id, fingerprint) do nothing returning ${SSH_KEY_COLUMNS}`,
)

/** No row: the user has no such key. */
export const deleteSshKey = statement<{ fingerprint: string; name: string }, [id: string, userId: string]>(
  'delete-ssh-key',
  'delete from ssh_keys where id = $1 and user_id = $2 returning fingerprint, name',
)

/** The users with a key who are members of a workspace, oldest key first. */
export const sshKeyOfMember = statement<
  { id: string; user_id: string; blob: Buffer; last_used_at: Date | null },
  [fingerprint: string, workspaceId: string]
>(
  'ssh-key-of-member',
  `select k.id, k.user_id, k.blob, k.last_used_at from ssh_keys k
   join member m on m."userId" = k.user_id and m."organizationId" = $2
   where k.fingerprint = $1 order by k.created_at, k.id`,
)

/** `last_used_at` has a precision of one minute. */
export const touchSshKey = statement<never, [id: string]>(
  'touch-ssh-key',
  `update ssh_keys set last_used_at = now()
   where id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
)
