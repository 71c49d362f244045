import { statement } from '../db/statement.ts'
import { sandboxColumns, type SandboxRow } from './sandbox-row.ts'

/** The one way a request reaches a sandbox by id when its credential is not an API key: id and workspace, never id alone. */
export const sandboxOfWorkspace = statement<SandboxRow, [id: string, workspaceId: string]>(
  'sandbox-of-workspace',
  `select ${sandboxColumns()} from sandboxes where id = $1 and workspace_id = $2`,
)

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
  ]
>(
  'insert-creating',
  `insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, metadata, persistent,
     ttl_seconds, idle_timeout_seconds, expires_at)
   values ($1, $2, $3, $4, 'creating', $5, $6, $7, $8, $9, $10, $11,
     case when $9 then null else now() + make_interval(secs => $10::int) end)
   returning ${sandboxColumns()}`,
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
  `update sandboxes set status = $3, boot_ms = $4, boot_mode = $5, guest_ip = $6, cpu = $7, memory_mb = $8,
     last_event_seq = $9
   where id = $1 and agent_id = $2 and status = 'creating' and last_event_seq <= $9
   returning ${sandboxColumns()}`,
)

export const sandboxById = statement<SandboxRow, [id: string]>(
  'sandbox-by-id',
  `select ${sandboxColumns()} from sandboxes where id = $1`,
)

/** A create that came to nothing. */
export const removeCreating = statement<{ id: string }, [id: string]>(
  'remove-creating',
  `delete from sandboxes where id = $1 and status = 'creating' returning id`,
)

export const removeSandbox = statement<{ id: string }, [id: string]>(
  'remove-sandbox',
  'delete from sandboxes where id = $1 returning id',
)

/** For the gauge of sandboxes by status. */
export const countByStatus = statement<{ status: string; count: number }, []>(
  'count-by-status',
  'select status, count(*) as count from sandboxes group by status',
)
