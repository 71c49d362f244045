import { type Kysely, sql } from 'kysely'

/** The time at which a job goes on with the copy, or null. Other processes know of the copy by then. */
const dueOf = (row: string) => `case when ${row}.state in ('leaving', 'copying')
  or (${row}.ended_at is not null and not ${row}.is_settled) then ${row}.created_at + interval '1 second' end`

/** A trigger that keeps one job for each row whose columns say when it is due. */
const jobOfRow = (task: string, due: (row: string) => string) => `declare
     was timestamptz;
     due timestamptz;
   begin
     if tg_op <> 'INSERT' then was := ${due('old')}; end if;
     if tg_op <> 'DELETE' then due := ${due('new')}; end if;
     if due is not distinct from was then return null; end if;
     if due is null then
       perform graphile_worker.remove_job('${task}:' || old.id);
     else
       perform graphile_worker.add_job('${task}', json_build_object('id', new.id), run_at := due,
         job_key := '${task}:' || new.id);
     end if;
     return null;
   end`

const STATEMENTS = [
  // Since when the sandbox sleeps.
  'alter table sandboxes add column hibernated_at timestamptz(3)',
  `update sandboxes set hibernated_at = now() where status = 'hibernated'`,
  `create function note_hibernation() returns trigger language plpgsql as $$
   begin
     new.hibernated_at := case when new.status = 'hibernated' then now() end;
     return new;
   end $$`,
  `create trigger note_hibernation before update of status on sandboxes for each row
     when (old.status <> new.status and (old.status = 'hibernated' or new.status = 'hibernated'))
     execute function note_hibernation()`,
  'create index sandboxes_hibernated_idx on sandboxes (hibernated_at) where hibernated_at is not null',
  // A copy of a hibernated sandbox in the object store. While it is not settled, the sandbox cannot wake on its agent.
  //   leaving → copying → stored → taken (another host has the sandbox) or ended (its own host has it, as before)
  // is_settled: the agent knows how the copy has ended. is_source_lost: the agent does not have the sandbox any more.
  `create table sandbox_copies (
     id uuid primary key default gen_random_uuid(),
     sandbox_id uuid not null,
     workspace_id uuid not null,
     agent_id text not null references agents (id),
     state text not null check (state in ('leaving', 'copying', 'stored', 'taken', 'ended')),
     reason text,
     bake text,
     bake_stream_id uuid,
     source_seq bigint,
     is_source_lost boolean not null default false,
     is_settled boolean not null default false,
     created_at timestamptz(3) not null default now(),
     stored_at timestamptz(3),
     ended_at timestamptz(3),
     check ((state in ('taken', 'ended')) = (ended_at is not null)),
     check ((ended_at is not null) = (reason is not null)),
     check (ended_at is not null or not is_settled)
   )`,
  'create unique index sandbox_copies_held_idx on sandbox_copies (sandbox_id) where not is_settled',
  'create index sandbox_copies_sandbox_idx on sandbox_copies (sandbox_id, ended_at)',
  'create index sandbox_copies_agent_idx on sandbox_copies (agent_id) where not is_settled',
  'create index sandbox_copies_bake_idx on sandbox_copies (workspace_id, bake) where ended_at is null',
  'create index sandbox_copies_ended_idx on sandbox_copies (ended_at)',
  // A stream of bytes in the object store: of a copy, or of the bake (its hash) that copies of a workspace share.
  // chunks: the number of objects that may exist.
  `create table stored_streams (
     id uuid primary key default gen_random_uuid(),
     workspace_id uuid not null,
     copy_id uuid not null,
     bake text,
     state text not null default 'storing' check (state in ('storing', 'stored', 'dropped')),
     chunks integer not null default 0,
     bytes bigint not null default 0,
     reason text,
     created_at timestamptz(3) not null default now(),
     deletion_due_at timestamptz(3),
     check ((state = 'dropped') = (deletion_due_at is not null)),
     check ((state = 'dropped') = (reason is not null))
   )`,
  'create index stored_streams_copy_idx on stored_streams (copy_id)',
  `create unique index stored_streams_bake_idx on stored_streams (workspace_id, bake) where state = 'stored'`,
  `create function job_copy_sandbox() returns trigger language plpgsql as $$ ${jobOfRow('copy-sandbox', dueOf)} $$`,
  `create trigger job_copy_sandbox after insert or delete or update of state, ended_at, is_settled on sandbox_copies
   for each row execute function job_copy_sandbox()`,
  `create function job_delete_stream() returns trigger language plpgsql as $$
     ${jobOfRow('delete-stream', (row) => `${row}.deletion_due_at`)} $$`,
  `create trigger job_delete_stream after insert or delete or update of deletion_due_at on stored_streams
   for each row execute function job_delete_stream()`,
  // Each control process remembers where sandboxes are, and must ask again while a copy holds one.
  `create function tell_copied_sandbox() returns trigger language plpgsql as $$
   begin
     perform pg_notify('moves', new.sandbox_id::text);
     return null;
   end $$`,
  `create trigger tell_copied after insert on sandbox_copies for each row execute function tell_copied_sandbox()`,
  // The end of a copy is the reason to delete its objects. A process that is stopped may still send one for a while.
  `create function drop_streams_of_copy() returns trigger language plpgsql as $$
   begin
     update stored_streams set state = 'dropped', reason = new.reason,
       deletion_due_at = now() + case when state = 'storing' then interval '10 minutes' else interval '0' end
     where copy_id = new.id and state <> 'dropped' and (bake is null or state = 'storing');
     return null;
   end $$`,
  `create trigger drop_streams_of_copy after update of ended_at on sandbox_copies for each row
   when (old.ended_at is null and new.ended_at is not null) execute function drop_streams_of_copy()`,
  `create function end_copy_of_sandbox() returns trigger language plpgsql as $$
   begin
     update sandbox_copies set state = 'ended', reason = 'the sandbox was deleted', ended_at = now()
     where sandbox_id = old.id and not is_settled and ended_at is null;
     return null;
   end $$`,
  `create trigger end_copy_of_sandbox after delete on sandboxes for each row execute function end_copy_of_sandbox()`,
  // The copy from which another host takes the sandbox over; null: from its own host.
  'alter table sandbox_moves add column copy_id uuid',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
