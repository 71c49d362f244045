import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Why an operator has removed the host although it had objects. The machine is off for good then.
  'alter table agents add column removed_reason text',
  // The backup from which a database is made on another host; null: the sandbox itself moves, or a copy of it.
  'alter table sandbox_moves add column backup_id uuid',
  // When the database came back on another host after its own was lost, and since when its WAL had not arrived.
  'alter table databases add column recovered_at timestamptz(3), add column recovered_until timestamptz(3)',
  // Another job has brought the database back, or given up. The rest is that of any move.
  `create function settle_recovery() returns trigger language plpgsql as $$
   begin
     perform graphile_worker.add_job('move-sandbox', json_build_object('id', new.id), job_key := 'move-sandbox:' || new.id);
     return null;
   end $$`,
  `create trigger settle_recovery after update of state on sandbox_moves for each row
   when (new.backup_id is not null and old.state = 'copying') execute function settle_recovery()`,
  `create trigger wake_recover_databases after update of removed_reason on agents for each row
   when (new.removed_reason is not null) execute function wake_job_of_change('recover-databases')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
