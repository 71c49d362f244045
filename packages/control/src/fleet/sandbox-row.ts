import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { BootMode, Egress, OnTimeout, Sandbox, SandboxStatus, Visibility } from '@offshoot/contract/sandbox'

/** The feature that owns a sandbox, and its resource. Tenants cannot delete such a sandbox by itself. */
export interface Manager {
  /** `proof`: an internal sandbox for the verification of a backup. */
  readonly by: 'app' | 'database' | 'proof'
  readonly id: string
}

/** A row of `sandboxes`, with the column values as PostgreSQL returns them. */
export interface SandboxRow {
  readonly id: SandboxId
  readonly workspace_id: WorkspaceId
  readonly agent_id: AgentId
  /** Number of the control process that creates or created it. */
  readonly creator: number
  readonly template: string
  readonly status: SandboxStatus
  readonly boot_ms: number | null
  readonly boot_mode: BootMode | null
  readonly guest_ip: string | null
  readonly cpu: number
  readonly memory_mb: number
  readonly metadata: Record<string, string>
  readonly volumes: { name: string; read_only: boolean }[]
  readonly persistent: boolean
  readonly ttl_seconds: number
  readonly idle_timeout_seconds: number
  readonly expires_at: Date | null
  readonly on_timeout: OnTimeout
  readonly from_snapshot: string | null
  readonly parent_id: string | null
  readonly fork_tree_id: string | null
  readonly managed_by: Manager['by'] | null
  readonly egress: Egress
  readonly visibility: Visibility
  /** Sequence number, in its agent's log, of the last record that changed this row. */
  readonly last_event_seq: number
  readonly created_at: Date
}

/**
 * Selects the sandboxes that tenants see. Internal ones (backup verification) are hidden and do not count against a
 * quota.
 */
export const VISIBLE_TO_TENANTS = `managed_by is distinct from 'proof'`

const COLUMNS = [
  'id',
  'workspace_id',
  'agent_id',
  'creator',
  'template',
  'status',
  'boot_ms',
  'boot_mode',
  'guest_ip',
  'cpu',
  'memory_mb',
  'metadata',
  'volumes',
  'persistent',
  'ttl_seconds',
  'idle_timeout_seconds',
  'expires_at',
  'on_timeout',
  'from_snapshot',
  'parent_id',
  'fork_tree_id',
  'managed_by',
  'egress',
  'visibility',
  'last_event_seq',
  'created_at',
] as const satisfies readonly (keyof SandboxRow)[]

/**
 * The select list of a {@link SandboxRow}. Never use `*`: a newer process may add a column while this one runs, and
 * PostgreSQL refuses a prepared statement whose result type has changed.
 */
export function sandboxColumns(): string {
  return COLUMNS.map((column) => `sandboxes.${column}`).join(', ')
}

/** The public view of a row. */
export function presentSandbox(row: SandboxRow): Sandbox {
  return {
    id: row.id,
    template: row.template,
    status: row.status,
    boot_ms: row.boot_ms,
    boot_mode: row.boot_mode,
    guest_ip: row.guest_ip,
    metadata: row.metadata,
    created_at: row.created_at.toISOString(),
    cpu: row.cpu,
    memory_mb: row.memory_mb,
    persistent: row.persistent,
    expires_at: row.expires_at?.toISOString() ?? null,
    on_timeout: row.on_timeout,
    from_snapshot: row.from_snapshot,
    parent_id: row.parent_id,
    fork_tree_id: row.fork_tree_id,
    volumes: row.volumes,
    managed_by: row.managed_by === 'proof' ? 'database' : row.managed_by,
    network: { egress: row.egress },
    visibility: row.visibility,
  }
}
