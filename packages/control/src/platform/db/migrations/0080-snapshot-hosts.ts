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

const STATEMENTS = [
  // The host of the row does not have the snapshot any more, but a copy elsewhere keeps it usable.
  'alter table snapshots add column is_missing boolean not null default false',
  // When the host of the row changes, the earlier one has to remove what it has.
  `create trigger snapshots_moved after update of agent_id on snapshots for each row
     when (old.agent_id <> new.agent_id) execute function record_removal()`,
  // The hosts that have a snapshot beside that of its row: copying → ready.
  `create table snapshot_hosts (
     id uuid not null references snapshots (id) on delete cascade,
     agent_id text not null references agents (id),
     workspace_id uuid not null,
     state text not null default 'copying' check (state in ('copying', 'ready')),
     creator integer not null,
     created_at timestamptz(3) not null default now(),
     primary key (id, agent_id)
   )`,
  'create index snapshot_hosts_agent_idx on snapshot_hosts (agent_id)',
  // Not if the host is that of the snapshot's row now, and not if it has said that it has nothing of a copy that failed.
  `create function record_removal_of_copy() returns trigger language plpgsql as $$ begin
     if exists (select from snapshots s where s.id = old.id and (s.agent_id = old.agent_id or old.state = 'copying')) then
       return null;
     end if;
     insert into removed_objects (id, agent_id) values (old.id, old.agent_id) on conflict do nothing;
     return null;
   end $$`,
  `create trigger snapshot_hosts_removed after delete on snapshot_hosts for each row
     execute function record_removal_of_copy()`,
  // A copy of a snapshot in the object store, one attempt for each row: waiting → copying → stored → ended.
  `create table snapshot_copies (
     id uuid primary key default gen_random_uuid(),
     snapshot_id uuid not null,
     workspace_id uuid not null,
     state text not null default 'waiting' check (state in ('waiting', 'copying', 'stored', 'ended')),
     reason text,
     bake text,
     bake_stream_id uuid,
     created_at timestamptz(3) not null default now(),
     stored_at timestamptz(3),
     ended_at timestamptz(3),
     check ((state = 'ended') = (ended_at is not null)),
     check ((ended_at is not null) = (reason is not null))
   )`,
  'create unique index snapshot_copies_current_idx on snapshot_copies (snapshot_id) where ended_at is null',
  'create index snapshot_copies_snapshot_idx on snapshot_copies (snapshot_id, ended_at)',
  'create index snapshot_copies_bake_idx on snapshot_copies (workspace_id, bake) where ended_at is null',
  'create index snapshot_copies_ended_idx on snapshot_copies (ended_at)',
  `create function job_copy_snapshot() returns trigger language plpgsql as $$
     ${jobOfRow('copy-snapshot', (row) => `case when ${row}.state in ('waiting', 'copying') then ${row}.created_at end`)} $$`,
  `create trigger job_copy_snapshot after insert or delete or update of state on snapshot_copies
   for each row execute function job_copy_snapshot()`,
  `create trigger drop_streams_of_snapshot_copy after update of ended_at on snapshot_copies for each row
   when (old.ended_at is null and new.ended_at is not null) execute function drop_streams_of_copy()`,
  `create function end_copies_of_snapshot() returns trigger language plpgsql as $$
   begin
     update snapshot_copies set state = 'ended', reason = 'the snapshot was deleted', ended_at = now()
     where snapshot_id = old.id and ended_at is null;
     return null;
   end $$`,
  `create trigger end_copies_of_snapshot after delete on snapshots for each row execute function end_copies_of_snapshot()`,
  // One attempt to move a snapshot away from a host that is drained: copying → done or failed.
  // is_final: what the reason says is true for every host. to_agent is null if no host fitted.
  `create table snapshot_moves (
     id uuid primary key default gen_random_uuid(),
     snapshot_id uuid not null,
     workspace_id uuid not null,
     from_agent text not null references agents (id),
     to_agent text references agents (id),
     state text not null check (state in ('copying', 'done', 'failed')),
     reason text,
     is_final boolean not null default false,
     created_at timestamptz(3) not null default now(),
     finished_at timestamptz(3),
     check (to_agent is not null or state = 'failed'),
     check ((state = 'failed') = (reason is not null)),
     check ((state = 'copying') = (finished_at is null))
   )`,
  'create unique index snapshot_moves_open_idx on snapshot_moves (snapshot_id) where finished_at is null',
  'create index snapshot_moves_from_idx on snapshot_moves (from_agent, created_at)',
  'create index snapshot_moves_finished_idx on snapshot_moves (finished_at)',
  `create function job_move_snapshot() returns trigger language plpgsql as $$
     ${jobOfRow('move-snapshot', (row) => `case when ${row}.finished_at is null then ${row}.created_at end`)} $$`,
  `create trigger job_move_snapshot after insert or delete or update of finished_at on snapshot_moves
   for each row execute function job_move_snapshot()`,
  `create trigger wake_drain_hosts_snapshot_moved after update of finished_at on snapshot_moves for each row
   when (old.finished_at is distinct from new.finished_at) execute function wake_job_of_change('drain-hosts')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
