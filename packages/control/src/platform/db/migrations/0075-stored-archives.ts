import { type Kysely, sql } from 'kysely'

/** A trigger that keeps one job for each row whose column says when it is due. */
const jobOfRow = (task: string, column: string) => `declare
     was timestamptz;
     due timestamptz;
   begin
     if tg_op <> 'INSERT' then was := old.${column}; end if;
     if tg_op <> 'DELETE' then due := new.${column}; end if;
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
  // The archive of a database in the object store. It outlives the database until its objects are deleted.
  // listed_agent, cursor: how far control has read the list of that agent. error: why the last attempt failed.
  // due_at: when control looks for new files. deletion_due_at: when it deletes objects that are not needed any more.
  `create table stored_archives (
     id uuid primary key,
     workspace_id uuid not null,
     listed_agent text,
     cursor text not null default '',
     error text,
     due_at timestamptz(3),
     deletion_due_at timestamptz(3)
   )`,
  // A file that may be in the object store. The row precedes the object.
  //   storing → stored → dropped (with the reason) → (the object and the row are gone)
  `create table stored_segments (
     archive_id uuid not null references stored_archives (id),
     name text not null,
     bytes integer not null,
     taken_at timestamptz(3) not null,
     state text not null default 'storing' check (state in ('storing', 'stored', 'dropped')),
     reason text,
     primary key (archive_id, name),
     check ((state = 'dropped') = (reason is not null))
   )`,
  `create index stored_segments_dropped_idx on stored_segments (archive_id) where state = 'dropped'`,
  `create function job_store_archive() returns trigger language plpgsql as $$ ${jobOfRow('store-archive', 'due_at')} $$`,
  `create trigger job_store_archive after insert or delete or update of due_at on stored_archives
   for each row execute function job_store_archive()`,
  `create function job_delete_segments() returns trigger language plpgsql as $$
     ${jobOfRow('delete-segments', 'deletion_due_at')} $$`,
  `create trigger job_delete_segments after insert or delete or update of deletion_due_at on stored_archives
   for each row execute function job_delete_segments()`,
  `create function begin_stored_archive() returns trigger language plpgsql as $$
   begin
     insert into stored_archives (id, workspace_id, due_at) values (new.id, new.workspace_id, now()) on conflict do nothing;
     return null;
   end $$`,
  `create trigger begin_stored_archive after update of status on databases for each row
   when (old.status <> 'ready' and new.status = 'ready') execute function begin_stored_archive()`,
  `insert into stored_archives (id, workspace_id, due_at) select id, workspace_id, now() from databases where status = 'ready'`,
  // A database that wakes archives something soon. One that falls asleep, or has moved, may have archived something just now.
  `create function look_at_archive() returns trigger language plpgsql as $$
   begin
     update stored_archives set due_at = now() where id = new.id and (due_at is null or due_at > now());
     return null;
   end $$`,
  `create trigger look_at_archive after update of status, agent_id on sandboxes for each row
   when (new.managed_by = 'database' and (old.status <> new.status or old.agent_id <> new.agent_id))
   execute function look_at_archive()`,
  // The deletion of a database is the reason to delete its objects. A process that is stopped may still send one for a while.
  `create function drop_stored_archive() returns trigger language plpgsql as $$
   begin
     update stored_archives set due_at = null, deletion_due_at = now() + case when exists (select from stored_segments
         where archive_id = old.id and state = 'storing') then interval '10 minutes' else interval '0' end
     where id = old.id;
     update stored_segments set state = 'dropped', reason = 'the database was deleted'
     where archive_id = old.id and state <> 'dropped';
     return null;
   end $$`,
  `create trigger drop_stored_archive after delete on databases for each row execute function drop_stored_archive()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
