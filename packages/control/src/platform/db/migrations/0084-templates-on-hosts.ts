import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Its home does not have the template any more, but a copy elsewhere keeps it usable.
  'alter table templates add column is_missing boolean not null default false',
  'create unique index templates_id_idx on templates (id)',
  // When its home changes, the earlier one has to remove what it has.
  `create trigger templates_moved after update of agent_id on templates for each row
     when (old.id = new.id and old.agent_id <> new.agent_id) execute function record_removal()`,
  `create trigger templates_ended after delete on templates for each row
     when (old.id is not null) execute function end_artifact()`,
  `create trigger templates_replaced_ended after update of id on templates for each row
     when (old.id is distinct from new.id) execute function end_artifact()`,
  // is_bound: it has memory, which only hosts with the accelerator of its home can restore.
  `create or replace view artifacts as
     select id, 'snapshot'::text as kind, workspace_id, agent_id, origin, is_missing, status = 'ready' as is_ready,
       deletion_due_at is not null as is_expiring, size_bytes, created_at, id::text as name, true as is_bound
     from snapshots
     union all
     select id, 'template', workspace_id, agent_id, 'built', is_missing, true, false, size_bytes, updated_at, name,
       coalesce((meta ->> 'has_memory')::boolean, false)
     from templates where id is not null and agent_id is not null and workspace_id is not null`,
  `create or replace function update_artifact() returns trigger language plpgsql as $$ begin
     if old.kind = 'snapshot' then
       update snapshots set agent_id = new.agent_id, is_missing = new.is_missing
       where id = old.id and agent_id = old.agent_id;
     else
       update templates set agent_id = new.agent_id, is_missing = new.is_missing
       where id = old.id and agent_id = old.agent_id;
     end if;
     if found then return new; end if;
     return null;
   end $$`,
  `create or replace function require_artifact() returns trigger language plpgsql as $$ begin
     perform from snapshots where id = new.artifact_id for key share;
     if found then return new; end if;
     perform from templates where id = new.artifact_id for key share;
     if found then return new; end if;
     return null;
   end $$`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
