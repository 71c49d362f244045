import { type Kysely, sql } from 'kysely'

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

// No released version knows the tables of 0080.
const RENAMED = [
  ...['hosts', 'copies', 'moves'].map((name) => `alter table snapshot_${name} rename to artifact_${name}`),
  'alter table artifact_hosts rename column id to artifact_id',
  'alter table artifact_copies rename column snapshot_id to artifact_id',
  'alter table artifact_moves rename column snapshot_id to artifact_id',
  'alter table artifact_hosts drop constraint snapshot_hosts_id_fkey',
  'alter table artifact_hosts rename constraint snapshot_hosts_pkey to artifact_hosts_pkey',
  'alter table artifact_copies rename constraint snapshot_copies_pkey to artifact_copies_pkey',
  'alter table artifact_moves rename constraint snapshot_moves_pkey to artifact_moves_pkey',
  'alter index snapshot_hosts_agent_idx rename to artifact_hosts_agent_idx',
  'alter index snapshot_copies_snapshot_idx rename to artifact_copies_artifact_idx',
  ...['current', 'bake', 'ended'].map(
    (name) => `alter index snapshot_copies_${name}_idx rename to artifact_copies_${name}_idx`,
  ),
  ...['open', 'from', 'finished'].map(
    (name) => `alter index snapshot_moves_${name}_idx rename to artifact_moves_${name}_idx`,
  ),
  'alter trigger snapshot_hosts_removed on artifact_hosts rename to artifact_hosts_removed',
  'alter trigger drop_streams_of_snapshot_copy on artifact_copies rename to drop_streams_of_artifact_copy',
  'alter trigger wake_drain_hosts_snapshot_moved on artifact_moves rename to wake_drain_hosts_artifact_moved',
  'drop trigger end_copies_of_snapshot on snapshots',
  'drop function end_copies_of_snapshot()',
]

const STATEMENTS = [
  ...RENAMED,
  // What never changes, so that several hosts may have it. agent_id: its home.
  `create view artifacts as
     select id, 'snapshot'::text as kind, workspace_id, agent_id, origin, is_missing, status = 'ready' as is_ready,
       deletion_due_at is not null as is_expiring, size_bytes, created_at
     from snapshots`,
  // No row: it is gone, or has moved meanwhile.
  `create function update_artifact() returns trigger language plpgsql as $$ begin
     update snapshots set agent_id = new.agent_id, is_missing = new.is_missing
     where id = old.id and agent_id = old.agent_id;
     if found then return new; end if;
     return null;
   end $$`,
  'create trigger artifacts_updated instead of update on artifacts for each row execute function update_artifact()',
  // In place of a foreign key: nothing refers to an artifact that is being deleted.
  `create function require_artifact() returns trigger language plpgsql as $$ begin
     perform from snapshots where id = new.artifact_id for key share;
     if found then return new; end if;
     return null;
   end $$`,
  ...['hosts', 'copies'].map(
    (name) => `create trigger artifact_${name}_inserted before insert on artifact_${name} for each row
     execute function require_artifact()`,
  ),
  `create function end_artifact() returns trigger language plpgsql as $$ begin
     delete from artifact_hosts where artifact_id = old.id;
     update artifact_copies set state = 'ended', reason = 'it was deleted', ended_at = now()
     where artifact_id = old.id and ended_at is null;
     return null;
   end $$`,
  'create trigger snapshots_ended after delete on snapshots for each row execute function end_artifact()',
  // Not if the host is its home now, and not if it has said that it has nothing of a copy that failed.
  `create or replace function record_removal_of_copy() returns trigger language plpgsql as $$ begin
     if exists (select from artifacts a
       where a.id = old.artifact_id and (a.agent_id = old.agent_id or old.state = 'copying')) then
       return null;
     end if;
     insert into removed_objects (id, agent_id) values (old.artifact_id, old.agent_id) on conflict do nothing;
     return null;
   end $$`,
  'drop trigger job_copy_snapshot on artifact_copies',
  'drop function job_copy_snapshot()',
  `create function job_copy_artifact() returns trigger language plpgsql as $$
     ${jobOfRow('copy-artifact', (row) => `case when ${row}.state in ('waiting', 'copying') then ${row}.created_at end`)} $$`,
  `create trigger job_copy_artifact after insert or delete or update of state on artifact_copies
   for each row execute function job_copy_artifact()`,
  'drop trigger job_move_snapshot on artifact_moves',
  'drop function job_move_snapshot()',
  `create function job_move_artifact() returns trigger language plpgsql as $$
     ${jobOfRow('move-artifact', (row) => `case when ${row}.finished_at is null then ${row}.created_at end`)} $$`,
  `create trigger job_move_artifact after insert or delete or update of finished_at on artifact_moves
   for each row execute function job_move_artifact()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
