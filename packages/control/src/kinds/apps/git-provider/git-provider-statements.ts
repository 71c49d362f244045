import { statement } from '../../../platform/db/statement.ts'

/** Minutes for which a connect request is valid. */
const CONNECT_MINUTES = 60
/** Days for which a delivery's id is stored. */
const DELIVERY_DAYS = 30

export interface InstallationRow {
  readonly installation_id: number
  readonly workspace_id: string
  readonly account_login: string
  readonly account_type: string
  readonly created_at: Date
}

/** The select list of an {@link InstallationRow}. */
export const INSTALLATION_COLUMNS = 'installation_id, workspace_id, account_login, account_type, created_at'

export const insertConnect = statement<never, [state: string, workspaceId: string]>(
  'insert-git-connect',
  'insert into git_connects (state, workspace_id) values ($1, $2)',
)

/** Returns the workspace of a connect request, once. */
export const takeConnect = statement<{ workspace_id: string; created_at: Date }, [state: string]>(
  'take-git-connect',
  `delete from git_connects where state = $1 and created_at > now() - interval '${CONNECT_MINUTES} minutes'
   returning workspace_id, created_at`,
)

/** No row: the installation belongs to another workspace. */
export const bindInstallation = statement<
  { installation_id: number },
  [installationId: number, workspaceId: string, login: string, type: string]
>(
  'bind-git-installation',
  `insert into git_installations as i (installation_id, workspace_id, account_login, account_type) values ($1, $2, $3, $4)
   on conflict (installation_id) do update set account_login = $3, account_type = $4 where i.workspace_id = $2
   returning installation_id`,
)

export const installationOfWorkspace = statement<InstallationRow, [installationId: number, workspaceId: string]>(
  'git-installation-of-workspace',
  `select ${INSTALLATION_COLUMNS} from git_installations where installation_id = $1 and workspace_id = $2`,
)

export const installationOfAccount = statement<InstallationRow, [workspaceId: string, login: string]>(
  'git-installation-of-account',
  `select ${INSTALLATION_COLUMNS} from git_installations where workspace_id = $1 and lower(account_login) = lower($2)
   order by created_at desc limit 1`,
)

export const removeInstallation = statement<{ installation_id: number }, [installationId: number, workspaceId: string]>(
  'remove-git-installation',
  'delete from git_installations where installation_id = $1 and workspace_id = $2 returning installation_id',
)

/** A user removed the installation at the provider. */
export const forgetInstallation = statement<never, [installationId: number]>(
  'forget-git-installation',
  'delete from git_installations where installation_id = $1',
)

/** No row: a redelivery. */
export const insertDelivery = statement<{ id: string }, [id: string]>(
  'insert-git-delivery',
  'insert into git_deliveries (id) values ($1) on conflict do nothing returning id',
)

export interface PushedAppRow {
  readonly id: string
  readonly port: number
  readonly git_url: string
  readonly root_directory: string | null
}

/** Apps that deploy pushes to that branch, in the workspace of the installation that sent the event. */
export const appsOfPush = statement<PushedAppRow, [installationId: number, branch: string]>(
  'apps-of-push',
  `select a.id, a.port, a.git_url, a.root_directory from apps a join git_installations i on i.workspace_id = a.workspace_id
   where i.installation_id = $1 and a.git_branch = $2 and a.auto_deploy and a.deletion_due_at is null`,
)

/** Apps with previews, in the workspace of the installation that sent the pull request's event. */
export const appsWithPreviews = statement<Pick<PushedAppRow, 'id' | 'git_url'>, [installationId: number]>(
  'apps-with-previews',
  `select a.id, a.git_url from apps a join git_installations i on i.workspace_id = a.workspace_id
   where i.installation_id = $1 and a.preview_deploys and a.pull_number is null and a.deletion_due_at is null order by a.id`,
)

export const removeOldGitRows = statement<never, []>(
  'remove-old-git-rows',
  `with connects as (
     delete from git_connects where created_at < now() - interval '${CONNECT_MINUTES} minutes'
   )
   delete from git_deliveries where created_at < now() - interval '${DELIVERY_DAYS} days'`,
)
