import type { DatabaseSize } from '@offshoot/contract/database'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { hasNoCreator } from '../../platform/db/abandoned.ts'
import { statement } from '../../platform/db/statement.ts'
import { READY_SNAPSHOT } from '../sandboxes/snapshots/snapshot-row.ts'
import { type BackupRow, BACKUP_COLUMNS, WHOLE_BACKUPS } from './backup-statements.ts'

/** A backup that is due for verification. */
export interface VerificationRow extends BackupRow {
  readonly workspace_id: WorkspaceId
  readonly memory_mb: number
  readonly size: DatabaseSize
  readonly proof_tries: number
}

/** Serializes the choice of the next backup between processes, until the end of the transaction. */
export const lockVerifications = statement<never, []>(
  'lock-backup-verifications',
  `select pg_advisory_xact_lock(hashtext('backup proofs'))`,
)

/**
 * Claims, for `leaseSeconds`, the backup that has waited longest; none while another one is being verified.
 * @param agents the reachable agents
 */
export const claimVerification = statement<VerificationRow, [agents: readonly string[], leaseSeconds: number]>(
  'claim-backup-verification',
  `with due as materialized (
     select b.id as due_id from ${WHOLE_BACKUPS} join databases d on d.id = b.database_id and d.status = 'ready'
     where b.verified = 'pending' and b.proof_due_at <= now() and s.agent_id = any($1)
       and not exists (select from database_backups where proof_lease_until > now())
     order by b.proof_due_at limit 1 for update of b skip locked
   ), claimed as (
     update database_backups set proof_lease_until = now() + make_interval(secs => $2), proof_due_at = now() + make_interval(secs => $2)
     from due where id = due_id
   )
   select ${BACKUP_COLUMNS}, s.memory_mb, d.size, b.proof_tries from ${WHOLE_BACKUPS} join databases d on d.id = b.database_id
   where b.id in (select due_id from due)`,
  READY_SNAPSHOT,
)

export const hasPendingVerifications = statement<{ found: boolean }, []>(
  'has-pending-backup-verifications',
  `select exists (select from database_backups where verified = 'pending') as found`,
)

/** Stores the result of a verification. */
export const setVerified = statement<{ id: string }, [id: string, verified: 'ok' | 'failed', error: string | null]>(
  'set-backup-verified',
  `update database_backups set verified = $2, verify_error = $3, verified_at = now(), proof_lease_until = null
   where id = $1 and verified = 'pending' returning id`,
)

/** Schedules another attempt after one without a result. @param tries how much to add to the failed attempts */
export const postponeVerification = statement<{ id: string }, [id: string, seconds: number, tries: number]>(
  'postpone-backup-verification',
  `update database_backups set proof_lease_until = null, proof_due_at = now() + make_interval(secs => $2),
     proof_tries = proof_tries + $3 where id = $1 returning id`,
)

/**
 * The process that verified has ended: its sandbox is removed now, and the backup is due again. A row without a VM is left
 * to the reconciliation.
 */
export const endAbandonedVerifications = statement<{ id: string }, []>(
  'end-abandoned-verifications',
  `with ended as (
     update sandboxes s set deletion_due_at = now()
     where s.managed_by = 'proof' and s.deletion_due_at is null and s.status <> 'creating' and ${hasNoCreator('s')}
     returning s.managed_id
   )
   update database_backups b set proof_lease_until = null, proof_due_at = now() from ended
   where b.database_id = ended.managed_id and b.verified = 'pending' and b.proof_lease_until > now() returning b.id`,
)

/** Must run before the sandbox exists: records of this sandbox become no events. */
export const insertVerification = statement<never, [id: string]>(
  'insert-backup-verification',
  'insert into backup_proofs (id) values ($1)',
)

export const verificationsAmong = statement<{ id: string }, [ids: readonly string[]]>(
  'backup-verifications-among',
  'select id from backup_proofs where id = any($1)',
)

/** Keeps the ids for longer than any agent takes to deliver its records. */
export const removeOldVerifications = statement<never, []>(
  'remove-old-backup-verifications',
  `delete from backup_proofs where created_at < now() - interval '100 days'`,
)
