import type { AppRow } from '../model/app-row.ts'
import { statement } from '../../../platform/db/statement.ts'

/** Previews of one app at the same time. */
export const MAX_PREVIEWS = 10
/** Days for which the time of a pull request's latest event is stored. */
const TOLD_DAYS = 30

/** No row: a newer event was handled before. */
export const notePull = statement<{ number: number }, [appId: string, number: number, toldAt: Date]>(
  'note-pull',
  `insert into app_pulls as p (app_id, number, told_at) values ($1, $2, $3)
   on conflict (app_id, number) do update set told_at = $3 where p.told_at <= $3 returning number`,
)

/**
 * Inserts or updates the preview of a pull request, with the current settings of its app. Call it after `lockApp` of
 * the app, in the same transaction. No row: the app has {@link MAX_PREVIEWS}, or previews are disabled now.
 */
export const upsertPreview = statement<
  Pick<AppRow, 'id' | 'port'>,
  [appId: string, id: string, number: number, branch: string]
>(
  'upsert-preview',
  `insert into apps (id, workspace_id, name, git_url, git_branch, framework, runtime, install_command, build_command,
     start_command, root_directory, env, port, max_instances, auto_deploy, idle_timeout_seconds, parent_id, pull_number,
     visibility)
   select $2::uuid, a.workspace_id, a.name || ' #' || $3::integer, a.git_url, $4, a.framework, a.runtime, a.install_command,
     a.build_command, a.start_command, a.root_directory, a.env, a.port, 1, false, a.idle_timeout_seconds, a.id, $3,
     a.visibility
   from apps a where a.id = $1 and a.preview_deploys and (
     exists (select from apps p where p.parent_id = $1 and p.pull_number = $3 and p.deletion_due_at is null)
     or (select count(*) from apps p where p.parent_id = $1 and p.deletion_due_at is null) < ${MAX_PREVIEWS})
   on conflict (parent_id, pull_number) where deletion_due_at is null do update set git_branch = excluded.git_branch,
     framework = excluded.framework, runtime = excluded.runtime, install_command = excluded.install_command,
     build_command = excluded.build_command, start_command = excluded.start_command,
     root_directory = excluded.root_directory, env = excluded.env, port = excluded.port,
     idle_timeout_seconds = excluded.idle_timeout_seconds, visibility = excluded.visibility, updated_at = now()
   returning id, port`,
)

/** Previews are as visible as their app, at once. Their other settings wait for the next deployment. */
export const setPreviewsVisibility = statement<never, [appId: string]>(
  'set-previews-visibility',
  `update apps p set visibility = a.visibility, updated_at = now() from apps a
   where a.id = $1 and p.parent_id = a.id and p.deletion_due_at is null and p.visibility <> a.visibility`,
)

/** Hides one preview or all from callers. What they own is removed later. */
export const markPreviewsDeleted = statement<{ id: string }, [appId: string, number: number | null]>(
  'mark-previews-deleted',
  `update apps set deletion_due_at = now(), active_deployment_id = null
   where parent_id = $1 and ($2::integer is null or pull_number = $2) and deletion_due_at is null returning id`,
)

export const removeOldPulls = statement<never, []>(
  'remove-old-pulls',
  `delete from app_pulls where told_at < now() - interval '${TOLD_DAYS} days'`,
)
