import { type Kysely, sql } from 'kysely'

/** A table whose rows are due at a time, and the task that runs then. */
interface Due {
  readonly task: string
  readonly table: string
  /** Columns on which the time depends. */
  readonly columns: readonly string[]
  /** SQL of the time at which the row is due, or null. */
  readonly at: (row: 'new' | 'old' | 'present') => string
}

const DUE: readonly Due[] = [
  {
    task: 'remove-sandbox',
    table: 'sandboxes',
    columns: ['deletion_due_at', 'expires_at', 'managed_by', 'status', 'credit_paused_at'],
    at: (
      row,
    ) => `case when ${row}.managed_by is null or ${row}.managed_by = 'proof' then coalesce(${row}.deletion_due_at,
      case when ${row}.status <> 'creating' and ${row}.credit_paused_at is null then ${row}.expires_at end) end`,
  },
  { task: 'send-mail', table: 'mails', columns: ['due_at'], at: (row) => `${row}.due_at` },
  {
    task: 'empty-org',
    table: 'organization',
    columns: ['deletion_due_at'],
    at: (row) => `${row}.deletion_due_at`,
  },
  { task: 'remove-app', table: 'apps', columns: ['deletion_due_at'], at: (row) => `${row}.deletion_due_at` },
  { task: 'remove-database', table: 'databases', columns: ['deletion_due_at'], at: (row) => `${row}.deletion_due_at` },
  {
    task: 'back-up-database',
    table: 'databases',
    columns: ['backup_due_at', 'status'],
    at: (row) => `case when ${row}.status = 'ready' then ${row}.backup_due_at end`,
  },
  {
    task: 'order-certificate',
    table: 'app_certificates',
    columns: ['due_at', 'source'],
    at: (row) => `case when ${row}.source = 'acme' then ${row}.due_at end`,
  },
]

/** Inserts, deletes and changes of a column after which a recurring task, or the search for due rows without a job, runs soon. */
const WAKES: readonly { readonly task: string; readonly table: string; readonly on: string }[] = [
  { task: 'settle-builds', table: 'template_builds', on: 'insert' },
  { task: 'settle-trees', table: 'app_trees', on: 'insert' },
  { task: 'settle-old-versions', table: 'app_deployments', on: 'drain_until' },
  { task: 'settle-instances', table: 'app_instances', on: 'insert' },
  { task: 'settle-instances', table: 'app_instances', on: 'status' },
  { task: 'check-instances', table: 'app_instances', on: 'status' },
  { task: 'replace-lost-versions', table: 'apps', on: 'active_deployment_id' },
  { task: 'add-missing-jobs', table: 'app_deployments', on: 'sandbox_id' },
  { task: 'add-missing-jobs', table: 'app_instances', on: 'delete' },
  { task: 'start-deployments', table: 'app_deployments', on: 'insert' },
  { task: 'start-deployments', table: 'app_deployments', on: 'status' },
  { task: 'want-certificates', table: 'app_domains', on: 'verified_at' },
  { task: 'want-certificates', table: 'app_certificates', on: 'delete' },
  { task: 'add-missing-jobs', table: 'app_trees', on: 'app_id' },
  { task: 'add-missing-jobs', table: 'workspace_accounts', on: 'exhausted_until' },
]

const nameOf = (task: string) => task.replaceAll('-', '_')

/** The job of a row is added, moved and removed in the transaction that changes the row. Rows that exist get theirs now. */
function dueTrigger({ task, table, columns, at }: Due): string[] {
  const name = `job_${nameOf(task)}`
  return [
    `create function ${name}() returns trigger language plpgsql as $$
     declare
       was timestamptz;
       due timestamptz;
     begin
       if tg_op <> 'INSERT' then was := ${at('old')}; end if;
       if tg_op <> 'DELETE' then due := ${at('new')}; end if;
       if due is not distinct from was then return null; end if;
       if due is null then
         perform graphile_worker.remove_job('${task}:' || old.id);
       else
         perform graphile_worker.add_job('${task}', json_build_object('id', new.id), run_at := due,
           job_key := '${task}:' || new.id);
       end if;
       return null;
     end $$`,
    `create trigger ${name} after insert or delete or update of ${columns.join(', ')} on ${table}
     for each row execute function ${name}()`,
    `select graphile_worker.add_job('${task}', json_build_object('id', present.id), run_at := ${at('present')},
       job_key := '${task}:' || present.id)
     from ${table} present where ${at('present')} is not null`,
  ]
}

const STATEMENTS = [
  `create function wake_job(task text) returns void language sql as $$
     select graphile_worker.add_job(task, '{}', queue_name := task, job_key := task, job_key_mode := 'preserve_run_at',
       run_at := now())
   $$`,
  `create function wake_job_of_change() returns trigger language plpgsql as $$
   begin
     perform wake_job(tg_argv[0]);
     return null;
   end $$`,
  ...DUE.flatMap(dueTrigger),
  ...WAKES.map(({ task, table, on }) => {
    const isColumn = on !== 'insert' && on !== 'delete'
    const event = isColumn ? `update of ${on}` : on
    const when = isColumn ? `when (old.${on} is distinct from new.${on})` : ''
    return `create trigger wake_${nameOf(task)}_${on} after ${event} on ${table} for each row ${when}
      execute function wake_job_of_change('${task}')`
  }),
  // The last sandbox made from a fork's snapshot is gone.
  `create function job_remove_snapshot() returns trigger language plpgsql as $$
   begin
     perform graphile_worker.add_job('remove-snapshot', json_build_object('id', s.id), job_key := 'remove-snapshot:' || s.id)
     from snapshots s where s.id::text = old.from_snapshot and s.origin = 'fork';
     return null;
   end $$`,
  `create trigger job_remove_snapshot after delete on sandboxes for each row when (old.from_snapshot is not null)
   execute function job_remove_snapshot()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
