import type { Deployment, DeploymentStatus } from '@offshoot/contract/deployment'
import type { AppId, DeploymentId, SandboxId } from '@offshoot/contract/ids'

/** Why control replaces a live version by itself: its VM or its host is gone, or an operator drains the host. */
export type ReplacementCause = 'sandbox_lost' | 'host_lost' | 'host_drained'

/** A row of `app_deployments`. */
export interface DeploymentRow {
  readonly id: DeploymentId
  readonly app_id: AppId
  readonly status: DeploymentStatus
  readonly git_ref: string
  readonly git_commit: string | null
  /** The deployment that built this version: its own id, except for a rollback. */
  readonly origin_id: DeploymentId
  readonly sandbox_id: SandboxId | null
  /** The port on which the app listens. */
  readonly port: number
  readonly error: string | null
  /** How often a process has started the deployment. */
  readonly attempts: number
  /** `null`: somebody has asked for the deployment. */
  readonly cause: ReplacementCause | null
  /** The host of the version that it replaces; `null` without a cause, or if that is unknown. */
  readonly from_agent: string | null
  readonly created_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

const COLUMNS = [
  'id',
  'app_id',
  'status',
  'git_ref',
  'git_commit',
  'origin_id',
  'sandbox_id',
  'port',
  'error',
  'attempts',
  'cause',
  'from_agent',
  'created_at',
  'started_at',
  'finished_at',
] as const satisfies readonly (keyof DeploymentRow)[]

/** The select list of a {@link DeploymentRow}, for a table or alias named `d`. */
export const DEPLOYMENT_COLUMNS = COLUMNS.map((column) => `d.${column}`).join(', ')

export function presentDeployment(row: DeploymentRow): Deployment {
  return {
    id: row.id,
    app_id: row.app_id,
    status: row.status,
    git_ref: row.git_ref,
    git_commit: row.git_commit,
    sandbox_id: row.sandbox_id,
    error: row.error,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
