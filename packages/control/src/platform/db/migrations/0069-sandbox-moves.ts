import { type Kysely, sql } from 'kysely'

/** The time at which a job goes on with the move, or null. */
const dueOf = (row: string) =>
  `case when ${row}.finished_at is null or ${row}.left_behind is not null then ${row}.created_at end`

const STATEMENTS = [
  // An operator drains the host from the first time on. The second one: everything that can move has been tried.
  `alter table agents add column drain_begun_at timestamptz(3), add column drain_ended_at timestamptz(3)`,
  // One attempt to move a hibernated sandbox to another host. The agent of the sandbox's row has the sandbox.
  //   leaving → copying → committed → done. The first two may become failed.
  // finished_at: the sandbox can be used again. left_behind: the host that still has to remove its copy.
  // is_final: what the reason says is true for every host. to_agent is null if no host fitted.
  `create table sandbox_moves (
     id uuid primary key default gen_random_uuid(),
     sandbox_id uuid not null,
     workspace_id uuid not null,
     from_agent text not null references agents (id),
     to_agent text references agents (id),
     state text not null check (state in ('leaving', 'copying', 'committed', 'done', 'failed')),
     reason text,
     is_final boolean not null default false,
     was_running boolean not null default false,
     bake text,
     bytes bigint,
     source_seq bigint,
     left_behind text,
     created_at timestamptz(3) not null default now(),
     committed_at timestamptz(3),
     finished_at timestamptz(3),
     check (to_agent is not null or state = 'failed'),
     check ((state = 'failed') = (reason is not null)),
     check ((state in ('committed', 'done')) = (committed_at is not null)),
     check (finished_at is null or state in ('done', 'failed')),
     check (left_behind is null or state in ('done', 'failed'))
   )`,
  'create unique index sandbox_moves_open_idx on sandbox_moves (sandbox_id) where finished_at is null',
  'create index sandbox_moves_sandbox_idx on sandbox_moves (sandbox_id)',
  'create index sandbox_moves_from_idx on sandbox_moves (from_agent, created_at)',
  'create index sandbox_moves_unsettled_idx on sandbox_moves (created_at) where finished_at is null or left_behind is not null',
  'create index sandbox_moves_finished_idx on sandbox_moves (finished_at)',
  `create function job_move_sandbox() returns trigger language plpgsql as $$
   declare
     was timestamptz;
     due timestamptz;
   begin
     if tg_op <> 'INSERT' then was := ${dueOf('old')}; end if;
     if tg_op <> 'DELETE' then due := ${dueOf('new')}; end if;
     if due is not distinct from was then return null; end if;
     if due is null then
       perform graphile_worker.remove_job('move-sandbox:' || old.id);
     else
       perform graphile_worker.add_job('move-sandbox', json_build_object('id', new.id), run_at := due,
         job_key := 'move-sandbox:' || new.id);
     end if;
     return null;
   end $$`,
  `create trigger job_move_sandbox after insert or delete or update of finished_at, left_behind on sandbox_moves
   for each row execute function job_move_sandbox()`,
  `create trigger wake_drain_hosts_finished_at after update of finished_at on sandbox_moves for each row
   when (old.finished_at is distinct from new.finished_at) execute function wake_job_of_change('drain-hosts')`,
  `create trigger wake_drain_hosts_drain_begun_at after update of drain_begun_at on agents for each row
   when (old.drain_begun_at is distinct from new.drain_begun_at and new.drain_begun_at is not null)
   execute function wake_job_of_change('drain-hosts')`,
  // Each control process remembers where sandboxes are.
  `create function tell_moved_sandbox() returns trigger language plpgsql as $$
   begin
     perform pg_notify('moves', new.id::text);
     return null;
   end $$`,
  `create trigger tell_moved after update of agent_id on sandboxes for each row
   when (old.agent_id <> new.agent_id and old.status <> 'creating') execute function tell_moved_sandbox()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
