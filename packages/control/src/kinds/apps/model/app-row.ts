import { APP_CPU, APP_MEMORY_MIB, type App, type AppStatus, type Framework } from '@offshoot/contract/app'
import type { AppId, DeploymentId, WorkspaceId } from '@offshoot/contract/ids'
import { type PreviewAddress, visiblePort } from '@offshoot/contract/preview-address'
import type { Visibility } from '@offshoot/contract/sandbox'

/** A row of `apps`, with the app's status. */
export interface AppRow {
  readonly id: AppId
  readonly workspace_id: WorkspaceId
  readonly name: string
  /** The label of its address by name; `null` if another app has it, or if the name makes no valid label. */
  readonly host: string | null
  readonly git_url: string
  readonly git_branch: string
  readonly framework: Framework | null
  readonly runtime: string | null
  readonly install_command: string | null
  readonly build_command: string | null
  readonly start_command: string | null
  readonly root_directory: string | null
  /** Names and values as JSON, sealed. */
  readonly env: Buffer
  readonly port: number
  readonly max_instances: number
  readonly auto_deploy: boolean
  readonly preview_deploys: boolean
  /** The app whose preview this is, and the pull request; both `null` for an app that is no preview. */
  readonly parent_id: AppId | null
  readonly pull_number: number | null
  readonly idle_timeout_seconds: number
  readonly visibility: Visibility
  readonly active_deployment_id: DeploymentId | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly status: AppStatus
}

const COLUMNS = [
  'id',
  'workspace_id',
  'name',
  'host',
  'git_url',
  'git_branch',
  'framework',
  'runtime',
  'install_command',
  'build_command',
  'start_command',
  'root_directory',
  'env',
  'port',
  'max_instances',
  'auto_deploy',
  'preview_deploys',
  'parent_id',
  'pull_number',
  'idle_timeout_seconds',
  'visibility',
  'active_deployment_id',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof AppRow)[]

/**
 * The status of an app, for a table or alias named `apps`: that of the serving sandbox, else that of the newest
 * deployment. The sandbox of a lost host serves nobody.
 */
export const APP_STATUS = `coalesce(
  (select case s.status when 'running' then 'running' when 'hibernated' then 'hibernated' when 'paused' then 'hibernated' end
   from app_deployments d join sandboxes s on s.id = d.sandbox_id join agents h on h.id = s.agent_id and h.lost_at is null
   where d.id = apps.active_deployment_id),
  (select case when d.status in ('queued', 'building', 'deploying') then 'building' else 'error' end
   from app_deployments d where d.app_id = apps.id order by d.number desc limit 1),
  'created')`

/** The select list of an {@link AppRow}, for a table or alias named `apps`. */
export const APP_COLUMNS = `${COLUMNS.map((column) => `apps.${column}`).join(', ')}, ${APP_STATUS} as status`

/** The public view of a row. @param env the decrypted variables; the view contains no values */
export function presentApp(row: AppRow, env: Readonly<Record<string, string>>, address: PreviewAddress): App {
  return {
    id: row.id,
    name: row.name,
    git_url: row.git_url,
    git_branch: row.git_branch,
    framework: row.framework,
    runtime: row.runtime,
    install_command: row.install_command,
    build_command: row.build_command,
    start_command: row.start_command,
    root_directory: row.root_directory,
    env: Object.fromEntries(Object.keys(env).map((name) => [name, '***'])),
    port: row.port,
    cpu: APP_CPU,
    memory_mb: APP_MEMORY_MIB,
    max_instances: row.max_instances,
    auto_deploy: row.auto_deploy,
    preview_deploys: row.preview_deploys,
    preview_of: row.parent_id,
    pull_number: row.pull_number,
    idle_timeout_seconds: row.idle_timeout_seconds,
    visibility: row.visibility,
    url: urlOf(address, row.id),
    name_url: row.host === null ? null : urlOf(address, row.host),
    status: row.status,
    active_deployment_id: row.active_deployment_id,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

function urlOf(address: PreviewAddress, label: string): string {
  return `${address.scheme}://${label}.${address.suffix}${visiblePort(address)}`
}
