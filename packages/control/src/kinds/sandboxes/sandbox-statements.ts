import type { Egress } from '@offshoot/contract/sandbox'
import { REMOVABLE } from '../../fleet/removable.ts'
import { statement } from '../../platform/db/statement.ts'
import { TOLD_AGAIN } from '../../platform/db/told-again.ts'
import { type Manager, sandboxColumns, type SandboxRow } from '../../fleet/sandbox-row.ts'

/** `ttl_seconds` counts from now, the sandbox's creation; a persistent one does not expire. */
export const insertCreating = statement<
  SandboxRow,
  [
    id: string,
    workspaceId: string,
    agentId: string,
    creator: number,
    template: string,
    cpu: number,
    memoryMb: number,
    metadata: string,
    persistent: boolean,
    ttlSeconds: number,
    idleTimeoutSeconds: number,
    fromSnapshot: string | null,
    egress: Egress,
    /** JSON: `[{name, read_only}]` */
    volumes: string,
    managedBy: Manager['by'] | null,
    /** Of that feature. */
    managedId: string | null,
  ]
>(
  'insert-creating',
  `insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, metadata, persistent,
     ttl_seconds, idle_timeout_seconds, from_snapshot, egress, volumes, managed_by, managed_id, expires_at)
   values ($1, $2, $3, $4, 'creating', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
     case when $9 then null else now() + make_interval(secs => $10::int) end)
   returning ${sandboxColumns()}`,
)

/** Of an app or a database. */
export const sandboxesManagedBy = statement<SandboxRow, [managedBy: Manager['by'], managedId: string]>(
  'sandboxes-managed-by',
  `select ${sandboxColumns()} from sandboxes where managed_by = $1 and managed_id = $2`,
)

/** The next agent is tried: from here on the row is that agent's. */
export const moveCreating = statement<{ id: string }, [id: string, agentId: string]>(
  'move-creating',
  `update sandboxes set agent_id = $2 where id = $1 and status = 'creating' returning id`,
)

/** The agent's answer to a create. Changes nothing, and gives no row, when the log has told us already. */
export const setCreated = statement<
  SandboxRow,
  [
    id: string,
    agentId: string,
    status: string,
    bootMs: number | null,
    bootMode: string | null,
    guestIp: string | null,
    cpu: number,
    memoryMb: number,
    seq: number,
  ]
>(
  'set-created',
  `${TOLD_AGAIN}
   update sandboxes set status = $3, boot_ms = $4, boot_mode = $5, guest_ip = $6, cpu = $7, memory_mb = $8,
     last_event_seq = $9
   from told_again where id = $1 and agent_id = $2 and status = 'creating' and last_event_seq <= $9
   returning ${sandboxColumns()}`,
)

export const sandboxById = statement<SandboxRow, [id: string]>(
  'sandbox-by-id',
  `select ${sandboxColumns()} from sandboxes where id = $1`,
)

/** Creates that came to nothing: they count for nothing either. */
export const removeCreating = statement<{ id: string }, [ids: readonly string[]]>(
  'remove-creating',
  `with removed as (delete from sandboxes where id = any($1) and status = 'creating' returning id),
     uncounted as (delete from sandbox_creates using removed where sandbox_id = removed.id)
   select id from removed`,
)

export const removeSandboxRow = statement<{ id: string }, [id: string]>(
  'remove-sandbox',
  'delete from sandboxes where id = $1 returning id',
)

/** For the gauge of sandboxes by status. */
export const countByStatus = statement<{ status: string; count: number }, []>(
  'count-by-status',
  'select status, count(*) as count from sandboxes group by status',
)

/**
 * Claims, for `leaseSeconds`, sandboxes whose time is up by the database's clock, and those whose deletion was asked for
 * and has not come to an end. Whoever claims one deletes it; several processes never claim the same, and a lease runs
 * out when its holder dies. What a feature owns is that feature's to delete;
 * for what is paused because its workspace has no credit left, time stands still.
 *
 * @param agents those that can be reached
 */
export const claimExpired = statement<SandboxRow, [limit: number, agents: readonly string[], leaseSeconds: number]>(
  'claim-expired',
  `with due as materialized (
     select id as due_id from sandboxes
     where (managed_by is null or managed_by = 'proof') and ${REMOVABLE}
       and (deletion_due_at <= now()
         or (deletion_due_at is null and expires_at <= now() and status <> 'creating' and credit_paused_at is null))
     order by coalesce(deletion_due_at, expires_at) limit $1 for update skip locked
   )
   update sandboxes set deletion_due_at = now() + make_interval(secs => $3)
   from due where id = due_id
   returning ${sandboxColumns()}`,
)

/** Whoever is first removes it. */
export const setDeletionDue = statement<never, [id: string]>(
  'set-sandbox-deletion-due',
  'update sandboxes set deletion_due_at = now() where id = $1',
)

export const retryDeletion = statement<never, [id: string, afterSeconds: number]>(
  'retry-deletion',
  'update sandboxes set deletion_due_at = now() + make_interval(secs => $2) where id = $1 and deletion_due_at is not null',
)
