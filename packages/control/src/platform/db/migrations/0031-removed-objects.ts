import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The id of this database. An agent deletes nothing for a control with another id.
  'create table cluster (id uuid primary key default gen_random_uuid(), is_only boolean not null default true unique check (is_only))',
  'insert into cluster default values',
  // Objects that an agent may still have although their rows were removed. This record is the reason for which
  // reconciliation deletes them.
  `create table removed_objects (
    id uuid not null,
    agent_id text not null,
    removed_at timestamptz(3) not null default now(),
    primary key (id, agent_id)
  )`,
  'create index removed_objects_oldest_idx on removed_objects (removed_at)',
  `create function record_removal() returns trigger language plpgsql as $$ begin
    insert into removed_objects (id, agent_id) values (old.id, old.agent_id) on conflict do nothing;
    return null;
  end $$`,
  // Only for these statuses: rows of other sandboxes are removed after their agent has reported the deletion.
  `create trigger sandboxes_removed after delete on sandboxes for each row
     when (old.status in ('creating', 'failed')) execute function record_removal()`,
  `create trigger sandboxes_moved after update of agent_id on sandboxes for each row
     when (old.agent_id <> new.agent_id) execute function record_removal()`,
  'create trigger snapshots_removed after delete on snapshots for each row execute function record_removal()',
  'create trigger volumes_removed after delete on volumes for each row execute function record_removal()',
  `create trigger templates_removed after delete on templates for each row
     when (old.agent_id is not null) execute function record_removal()`,
  `create trigger templates_replaced after update of id on templates for each row
     when (old.agent_id is not null and old.id is distinct from new.id) execute function record_removal()`,
  'create trigger app_trees_removed after delete on app_trees for each row execute function record_removal()',
  'create trigger template_builds_removed after delete on template_builds for each row execute function record_removal()',
  `create trigger template_builds_failed after update of ended_at on template_builds for each row
     when (old.ended_at is null and new.ended_at is not null and new.status = 'failed') execute function record_removal()`,
  // Actions that wait for an operator's confirmation.
  `create table reconcile_waiting (
    agent_id text not null references agents (id) on delete cascade,
    action text not null check (action in ('delete', 'forget')),
    kind text not null,
    id text not null,
    workspace_id text not null,
    since timestamptz(3) not null default now(),
    confirmed_at timestamptz(3),
    primary key (agent_id, action, kind, id)
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
