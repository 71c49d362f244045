import { type Kysely, sql } from 'kysely'

const VISIBILITY = `visibility text not null default 'public' check (visibility in ('public', 'private'))`

const STATEMENTS = [
  `alter table sandboxes add column ${VISIBILITY}`,
  // The visibility of the sandbox from which the snapshot was taken.
  `alter table snapshots add column ${VISIBILITY}`,
  `alter table apps add column ${VISIBILITY}`,
  // Its sandboxes follow an app at once (`settle-visibility.ts`).
  `create trigger wake_settle_visibility after update of visibility on apps for each row
     when (old.visibility is distinct from new.visibility) execute function wake_job_of_change('settle-visibility')`,
  // Links to one port of a sandbox, or to an app. The token itself is not stored.
  `create table preview_links (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null,
    sandbox_id uuid references sandboxes (id) on delete cascade,
    port integer check (port between 1 and 65535),
    app_id uuid references apps (id) on delete cascade,
    label text,
    token_hash bytea not null unique,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    check ((sandbox_id is null) = (port is null) and (sandbox_id is null) <> (app_id is null))
  )`,
  'create index preview_links_of_port on preview_links (sandbox_id, port)',
  'create index preview_links_of_app on preview_links (app_id)',
  'create index preview_links_by_end on preview_links (expires_at)',
  // Codes with which a member's browser comes from control's host to the host of a preview. Each is used once.
  `create table preview_codes (
    code_hash bytea primary key,
    user_id uuid not null references "user" (id) on delete cascade,
    session_id uuid not null,
    origin text not null,
    state text not null,
    expires_at timestamptz(3) not null
  )`,
  'create index preview_codes_of_user on preview_codes (user_id)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
