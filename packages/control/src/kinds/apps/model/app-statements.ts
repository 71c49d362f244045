import { statement } from '../../../platform/db/statement.ts'
import type { Visibility } from '@offshoot/contract/sandbox'
import { APP_COLUMNS, type AppRow } from './app-row.ts'

/** Apps of one workspace. */
export const MAX_APPS = 100

/**
 * Call it after `lockAccount`, in the same transaction. No row: the workspace has {@link MAX_APPS}. Fails with a unique
 * violation if the name or host is taken.
 */
export const insertApp = statement<
  AppRow,
  [
    id: string,
    workspaceId: string,
    name: string,
    host: string | null,
    gitUrl: string,
    gitBranch: string,
    framework: string | null,
    runtime: string | null,
    installCommand: string | null,
    buildCommand: string | null,
    startCommand: string | null,
    rootDirectory: string | null,
    env: Buffer,
    port: number,
    maxInstances: number,
    autoDeploy: boolean,
    idleTimeoutSeconds: number,
    previewDeploys: boolean,
    visibility: Visibility,
  ]
>(
  'insert-app',
  `insert into apps (id, workspace_id, name, host, git_url, git_branch, framework, runtime, install_command,
     build_command, start_command, root_directory, env, port, max_instances, auto_deploy, idle_timeout_seconds, preview_deploys,
     visibility)
   select $1::uuid, $2::uuid, $3, (select $4::text where not exists (select from apps where host = $4)), $5, $6, $7, $8, $9, $10, $11,
     $12, $13::bytea, $14::integer, $15::integer, $16::boolean, $17::integer, $18::boolean, $19::text
   where (select count(*) from apps where workspace_id = $2 and deletion_due_at is null and pull_number is null) < ${MAX_APPS}
   returning ${APP_COLUMNS}`,
)

/** Finds an app by id and workspace: this is the tenant check. */
export const appOfWorkspace = statement<AppRow, [id: string, workspaceId: string]>(
  'app-of-workspace',
  `select ${APP_COLUMNS} from apps where id = $1 and workspace_id = $2 and deletion_due_at is null`,
)

export const appById = statement<AppRow, [id: string]>(
  'app-by-id',
  `select ${APP_COLUMNS} from apps where id = $1 and deletion_due_at is null`,
)

/** `null` leaves a column as it is; an empty text sets it to null. */
export const updateApp = statement<
  AppRow,
  [
    id: string,
    gitBranch: string | null,
    framework: string | null,
    runtime: string | null,
    installCommand: string | null,
    buildCommand: string | null,
    startCommand: string | null,
    rootDirectory: string | null,
    env: Buffer | null,
    port: number | null,
    maxInstances: number | null,
    autoDeploy: boolean | null,
    idleTimeoutSeconds: number | null,
    previewDeploys: boolean | null,
    visibility: Visibility | null,
  ]
>(
  'update-app',
  `update apps set git_branch = coalesce($2, git_branch), framework = coalesce($3, framework),
     runtime = nullif(coalesce($4, runtime), ''), install_command = nullif(coalesce($5, install_command), ''),
     build_command = nullif(coalesce($6, build_command), ''), start_command = nullif(coalesce($7, start_command), ''),
     root_directory = nullif(coalesce($8, root_directory), ''), env = coalesce($9, env), port = coalesce($10, port),
     max_instances = coalesce($11, max_instances), auto_deploy = coalesce($12, auto_deploy),
     idle_timeout_seconds = coalesce($13, idle_timeout_seconds), preview_deploys = coalesce($14, preview_deploys),
     visibility = coalesce($15, visibility),
     updated_at = now()
   where id = $1 and deletion_due_at is null returning ${APP_COLUMNS}`,
)

/**
 * Hides an app and its previews from callers and frees its name and host; what they own is removed later. Call it after
 * `lockApp`, in the same transaction, so that no preview is added in between.
 */
export const markAppDeleted = statement<{ id: string }, [id: string]>(
  'mark-app-deleted',
  `update apps set deletion_due_at = now(), host = null, active_deployment_id = null
   where (id = $1 or parent_id = $1) and deletion_due_at is null returning id`,
)

/** Claims, for `leaseSeconds`, deleted apps whose sandboxes are not all removed. */
export const deletedAppIds = statement<{ id: string }, [limit: number]>(
  'deleted-app-ids',
  'select id from apps where deletion_due_at <= now() order by deletion_due_at limit $1',
)

/** No row: the app is not due. */
export const deletedApp = statement<{ id: string }, [id: string]>(
  'deleted-app',
  'select id from apps where id = $1 and deletion_due_at <= now()',
)

/** Removes the row once nothing else is left of the app. */
export const removeAppRow = statement<{ id: string }, [id: string]>(
  'remove-app',
  `delete from apps where id = $1 and deletion_due_at is not null
     and not exists (select from sandboxes where managed_by = 'app' and managed_id = $1) returning id`,
)
