import { type Kysely, sql } from 'kysely'

// A row may come back: history never refuses one.
const SANDBOXES = `create function lineage_of_sandbox() returns trigger language plpgsql as $$
declare
  parent uuid := new.parent_id;
  link text := 'fork';
begin
  if parent is null and new.from_snapshot is null then
    link := 'template';
  elsif parent is null then
    -- Snapshots of forks and backups are no nodes, so what started from them came of their sandbox.
    link := case when new.fork_tree_id is null then 'from_snapshot' else 'fork' end;
    select case when origin = 'user' then id else sandbox_id end into parent from snapshots
    where id = new.from_snapshot::uuid;
  end if;
  insert into lineage (id, workspace_id, kind, link, parent_id, root_id, template, cpu, memory_mb, fork_tree_id, created_at)
  values (new.id, new.workspace_id, 'sandbox', link, parent,
    coalesce((select root_id from lineage where id = parent), parent, new.id),
    new.template, new.cpu, new.memory_mb, new.fork_tree_id, new.created_at)
  on conflict (id) do update set deleted_at = null;
  return null;
end $$`

const SNAPSHOTS = `create function lineage_of_snapshot() returns trigger language plpgsql as $$ begin
  insert into lineage (id, workspace_id, kind, link, parent_id, root_id, name, template, cpu, memory_mb, created_at)
  values (new.id, new.workspace_id, 'snapshot', 'snapshot_of', new.sandbox_id,
    coalesce((select root_id from lineage where id = new.sandbox_id), new.sandbox_id),
    new.name, new.template, new.cpu, new.memory_mb, new.created_at)
  on conflict (id) do update set deleted_at = null;
  return null;
end $$`

// What was never made leaves no trace.
const DELETED = `create function lineage_of_deleted() returns trigger language plpgsql as $$
declare
  o jsonb := to_jsonb(old);
begin
  if old.status = 'creating' then
    delete from lineage where id = old.id;
  else
    update lineage set deleted_at = now(), name = coalesce(o->>'name', o->'metadata'->>'name'), cpu = old.cpu,
      memory_mb = old.memory_mb, size_bytes = (o->>'size_bytes')::bigint,
      promoted = kind = 'sandbox' and fork_tree_id is not null and o->>'parent_id' is null
    where id = old.id;
  end if;
  return null;
end $$`

/** Sandboxes and snapshots that are older than the table. Deleted ones of then are not known. */
const OLDER = [
  `insert into lineage (id, workspace_id, kind, link, parent_id, root_id, template, cpu, memory_mb, fork_tree_id, created_at)
   select s.id, s.workspace_id, 'sandbox',
     case when s.parent_id is null and s.from_snapshot is null then 'template'
       when s.parent_id is null and s.fork_tree_id is null then 'from_snapshot' else 'fork' end,
     coalesce(s.parent_id, case when n.origin = 'user' then n.id else n.sandbox_id end),
     s.id, s.template, s.cpu, s.memory_mb, s.fork_tree_id, s.created_at
   from sandboxes s left join snapshots n on n.id::text = s.from_snapshot where s.managed_by is distinct from 'proof'`,
  `insert into lineage (id, workspace_id, kind, link, parent_id, root_id, name, template, cpu, memory_mb, created_at)
   select id, workspace_id, 'snapshot', 'snapshot_of', sandbox_id, id, name, template, cpu, memory_mb, created_at
   from snapshots where origin = 'user'`,
  `with recursive tree as (
     select id, coalesce(parent_id, id) as root_id from lineage l
     where not exists (select from lineage p where p.id = l.parent_id)
     union all
     select l.id, tree.root_id from lineage l join tree on l.parent_id = tree.id
   )
   update lineage set root_id = tree.root_id from tree where tree.id = lineage.id`,
]

const STATEMENTS = [
  // Every sandbox and snapshot that tenants see, also for some time after its deletion. name, size_bytes and promoted
  // are those at the deletion: until then, the object's own row has them.
  `create table lineage (
    id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    kind text not null check (kind in ('sandbox', 'snapshot')),
    link text not null check (link in ('template', 'fork', 'from_snapshot', 'snapshot_of')),
    parent_id uuid,
    root_id uuid not null,
    name text,
    template text not null,
    cpu integer not null,
    memory_mb integer not null,
    size_bytes bigint,
    fork_tree_id uuid,
    promoted boolean not null default false,
    created_at timestamptz(3) not null,
    deleted_at timestamptz(3)
  )`,
  SANDBOXES,
  SNAPSHOTS,
  DELETED,
  ...OLDER,
  'create index lineage_root_idx on lineage (root_id)',
  'create index lineage_workspace_idx on lineage (workspace_id)',
  'create index lineage_deleted_idx on lineage (deleted_at) where deleted_at is not null',
  `create trigger lineage_of_sandbox after insert on sandboxes for each row
   when (new.managed_by is distinct from 'proof') execute function lineage_of_sandbox()`,
  `create trigger lineage_of_snapshot after insert on snapshots for each row
   when (new.origin = 'user') execute function lineage_of_snapshot()`,
  `create trigger lineage_of_deleted_sandbox after delete on sandboxes for each row
   when (old.managed_by is distinct from 'proof') execute function lineage_of_deleted()`,
  `create trigger lineage_of_deleted_snapshot after delete on snapshots for each row
   when (old.origin = 'user') execute function lineage_of_deleted()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
