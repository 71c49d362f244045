import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Certificates of app domains. Keys are sealed.
  // - source: 'given' was uploaded by the caller, 'acme' is ordered by control.
  // - fingerprint, ends_at: of the chain.
  // - order_url, order_key: of the order in progress.
  // - challenge_…: the challenge of the certificate authority, and the response to it.
  // - due_at: when the next order begins; null after too many failed attempts.
  // - creator: number of the control process that works on the order.
  `create table app_certificates (
    id uuid primary key default gen_random_uuid(),
    app_id uuid not null,
    domain text not null,
    source text not null check (source in ('acme', 'given')),
    chain text,
    key bytea,
    fingerprint text,
    ends_at timestamptz(3),
    order_url text,
    order_key bytea,
    challenge_token text,
    challenge_answer text,
    failures integer not null default 0,
    error text,
    tried_at timestamptz(3),
    due_at timestamptz(3),
    creator integer,
    unique (app_id, domain),
    foreign key (app_id, domain) references app_domains (app_id, domain) on delete cascade
  )`,
  'create index app_certificates_domain_idx on app_certificates (domain)',
  'create index app_certificates_due_idx on app_certificates (due_at) where due_at is not null',
  `create trigger app_certificates_changed after insert or delete or update of fingerprint on app_certificates
     for each row execute function tell_of_app()`,
  // Control's account at a certificate authority, by the address of the authority's directory.
  `create table acme_accounts (
    directory_url text primary key,
    key bytea not null
  )`,
  // Counts the orders of a workspace for its rate limit.
  `create table certificate_orders (
    workspace_id uuid not null references organization (id) on delete cascade,
    created_at timestamptz not null default now()
  )`,
  'create index certificate_orders_workspace_idx on certificate_orders (workspace_id, created_at)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
