import { type Kysely, sql } from 'kysely'

/** The time at which a job deletes the sandbox, or null. */
const removalOf = (row: string) => `case when ${row}.managed_by is null or ${row}.managed_by = 'proof' then
  coalesce(${row}.deletion_due_at, case when ${row}.status <> 'creating' and ${row}.credit_paused_at is null
    and (${row}.on_timeout = 'delete' or ${row}.status = 'failed') then ${row}.expires_at end) end`

/**
 * The time at which a job hibernates the sandbox, or null. A hibernated one is due at once if its deadline was extended
 * during the hibernation.
 */
const timeoutOf = (row: string) => `case when ${row}.managed_by is null and ${row}.on_timeout = 'pause'
  and ${row}.deletion_due_at is null and ${row}.credit_paused_at is null then
  case when ${row}.status in ('running', 'paused') then ${row}.expires_at
    when ${row}.status = 'hibernated' then ${row}.timeout_begun_at end end`

function jobTrigger(task: string, at: (row: string) => string): string {
  return `create or replace function job_${task.replaceAll('-', '_')}() returns trigger language plpgsql as $$
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
    end $$`
}

const STATEMENTS = [
  // timeout_begun_at: an attempt to hibernate is under way. timeout_failed_at: the first attempt of this deadline failed.
  `alter table sandboxes
     add column on_timeout text not null default 'delete' check (on_timeout in ('delete', 'pause')),
     add column timeout_begun_at timestamptz(3),
     add column timeout_failed_at timestamptz(3)`,
  'alter table sandboxes drop constraint sandboxes_check',
  `alter table sandboxes add constraint sandboxes_expires_at_check check (
     case when persistent then expires_at is null else expires_at is not null
       or (on_timeout = 'pause' and status = 'hibernated' and managed_by is null) end) not valid`,
  'alter table sandboxes validate constraint sandboxes_expires_at_check',
  // A sandbox that hibernates at its deadline has none while it is hibernated, whoever hibernated it, and a new one after
  // each wake, whoever woke it. A deadline that was extended during the hibernation stays, and the job wakes the sandbox.
  `create function keep_sandbox_deadline() returns trigger language plpgsql as $$
   begin
     if tg_op = 'UPDATE' and old.status = 'hibernated' and new.status <> 'hibernated' then
       new.timeout_begun_at := null;
     end if;
     if new.persistent then
       new.expires_at := null;
     elsif new.on_timeout <> 'pause' or new.status <> 'hibernated' or new.managed_by is not null then
       new.expires_at := coalesce(new.expires_at, now() + make_interval(secs => new.ttl_seconds));
     elsif new.timeout_begun_at is null or new.expires_at is null or new.expires_at <= new.timeout_begun_at then
       new.expires_at := null;
       new.timeout_begun_at := null;
       new.timeout_failed_at := null;
     end if;
     return new;
   end $$`,
  `create trigger keep_sandbox_deadline before insert or update on sandboxes
   for each row when (new.on_timeout = 'pause' or (new.expires_at is null and not new.persistent))
   execute function keep_sandbox_deadline()`,
  jobTrigger('remove-sandbox', removalOf),
  'drop trigger job_remove_sandbox on sandboxes',
  `create trigger job_remove_sandbox after insert or delete
   or update of deletion_due_at, expires_at, managed_by, status, credit_paused_at, on_timeout, persistent
   on sandboxes for each row execute function job_remove_sandbox()`,
  jobTrigger('hibernate-sandbox', timeoutOf),
  `create trigger job_hibernate_sandbox after insert or delete
   or update of deletion_due_at, expires_at, managed_by, status, credit_paused_at, on_timeout, persistent, timeout_begun_at
   on sandboxes for each row execute function job_hibernate_sandbox()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
