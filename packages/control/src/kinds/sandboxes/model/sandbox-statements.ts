import type { Egress, OnTimeout, Visibility } from '@offshoot/contract/sandbox'
import { REMOVABLE } from '../../../fleet/removable.ts'
import { statement } from '../../../platform/db/statement.ts'
import { REDELIVERED } from '../../../platform/db/redelivered.ts'
import { type Manager, sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/** `ttl_seconds` counts from the insert. A persistent sandbox does not expire. */
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
    /** The id of that feature's resource. */
    managedId: string | null,
    onTimeout: OnTimeout,
    visibility: Visibility,
  ]
>(
  'insert-creating',
  `insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, metadata, persistent,
     ttl_seconds, idle_timeout_seconds, from_snapshot, egress, volumes, managed_by, managed_id, on_timeout, visibility,
     expires_at)
   values ($1, $2, $3, $4, 'creating', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
     case when $9 then null else now() + make_interval(secs => $10::int) end)
   returning ${sandboxColumns()}`,
)

/** The sandboxes of an app or a database. */
export const sandboxesManagedBy = statement<SandboxRow, [managedBy: Manager['by'], managedId: string]>(
  'sandboxes-managed-by',
  `select ${sandboxColumns()} from sandboxes where managed_by = $1 and managed_id = $2`,
)

/** Moves the row to the next agent before that agent is asked. */
export const moveCreating = statement<{ id: string }, [id: string, agentId: string]>(
  'move-creating',
  `update sandboxes set agent_id = $2 where id = $1 and status = 'creating' returning id`,
)

/** Applies the agent's answer to a create. Changes nothing and returns no row if the log's record was applied first. */
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
  `${REDELIVERED}
   update sandboxes set status = $3, boot_ms = $4, boot_mode = $5, guest_ip = $6, cpu = $7, memory_mb = $8,
     last_event_seq = $9
   from redelivered where id = $1 and agent_id = $2 and status = 'creating' and last_event_seq <= $9
   returning ${sandboxColumns()}`,
)

export const sandboxById = statement<SandboxRow, [id: string]>(
  'sandbox-by-id',
  `select ${sandboxColumns()} from sandboxes where id = $1`,
)

/** Removes the rows of failed creates, so that they do not count against the quota. */
export const removeCreating = statement<{ id: string }, [ids: readonly string[]]>(
  'remove-creating',
  `with removed as (delete from sandboxes where id = any($1) and status = 'creating' returning id),
     uncounted as (delete from sandbox_creates using removed where sandbox_id = removed.id)
   select id from removed`,
)

/**
 * After the agent has deleted it: the record of that in the agent's log deletes the row too. No row: it is gone already,
 * or has moved to another agent.
 */
export const removeDeletedSandboxRow = statement<{ id: string }, [id: string, agentId: string]>(
  'remove-deleted-sandbox',
  `${REDELIVERED} delete from sandboxes using redelivered where id = $1 and agent_id = $2 returning id`,
)

/** No row: as above. */
export const removeSandboxRow = statement<{ id: string }, [id: string, agentId: string]>(
  'remove-sandbox',
  'delete from sandboxes where id = $1 and agent_id = $2 returning id',
)

/** For the gauge of sandboxes by status. */
export const countByStatus = statement<{ status: string; count: number }, []>(
  'count-by-status',
  'select status, count(*) as count from sandboxes group by status',
)

/**
 * Expired sandboxes (by the database's clock) and those with a pending deletion, without those that a feature owns,
 * because the feature deletes them, and without those that hibernate at that time, unless they have failed. Sandboxes
 * that are paused for lack of credit do not expire. The trigger `job_remove_sandbox` computes the same time.
 */
const EXPIRED = `(managed_by is null or managed_by = 'proof') and ${REMOVABLE}
  and (deletion_due_at <= now()
    or (deletion_due_at is null and expires_at <= now() and status <> 'creating' and credit_paused_at is null
      and (on_timeout = 'delete' or status = 'failed')))`

/** @param agents the reachable agents */
export const expiredIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'expired-sandbox-ids',
  `select id from sandboxes where ${EXPIRED} order by coalesce(deletion_due_at, expires_at) limit $1`,
)

/**
 * Marks the sandbox, so that its time to live can no longer be extended. The time of its job stays the same. No row: it
 * is not due, or its agent is not reachable.
 */
export const endExpired = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'end-expired-sandbox',
  `update sandboxes set deletion_due_at = coalesce(deletion_due_at, expires_at) where id = $1 and ${EXPIRED}
   returning ${sandboxColumns()}`,
)

/** The job of the sandbox removes it. */
export const setDeletionDue = statement<never, [id: string]>(
  'set-sandbox-deletion-due',
  'update sandboxes set deletion_due_at = now() where id = $1',
)

export const retryDeletion = statement<never, [id: string, afterSeconds: number]>(
  'retry-deletion',
  'update sandboxes set deletion_due_at = now() + make_interval(secs => $2) where id = $1 and deletion_due_at is not null',
)
