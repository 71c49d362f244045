-- Made by migrate.test.ts from what the migrations lead to. Change the migrations, not this file.

create table "account" (
  id uuid not null default gen_random_uuid(),
  issuer text,
  "accountId" text not null,
  "providerId" text not null,
  "userId" uuid not null,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamp with time zone,
  "refreshTokenExpiresAt" timestamp with time zone,
  scope text,
  password text,
  "createdAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  "updatedAt" timestamp with time zone not null,
  constraint "account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint account_pkey PRIMARY KEY (id)
);

CREATE INDEX "account_userId_idx" ON public.account USING btree ("userId");

CREATE UNIQUE INDEX "account_issuer_accountId_uidx" ON public.account USING btree (issuer, "accountId");

CREATE UNIQUE INDEX "account_providerId_accountId_uidx" ON public.account USING btree ("providerId", "accountId") WHERE ("providerId" <> 'jwt'::text);

create table "acme_accounts" (
  directory_url text not null,
  key bytea not null,
  constraint acme_accounts_pkey PRIMARY KEY (directory_url)
);

create table "agents" (
  id text not null,
  url text not null,
  cursor bigint not null default 0,
  info jsonb not null,
  seen_at timestamp(3) with time zone not null default now(),
  created_at timestamp(3) with time zone not null default now(),
  retired_at timestamp(3) with time zone,
  cordoned_at timestamp(3) with time zone,
  lost_at timestamp(3) with time zone,
  labels jsonb not null default '{}'::jsonb,
  zone text,
  drain_begun_at timestamp(3) with time zone,
  drain_ended_at timestamp(3) with time zone,
  removed_reason text,
  constraint agents_pkey PRIMARY KEY (id)
);

create table "api_keys" (
  prefix text not null,
  hash bytea not null,
  workspace_id uuid not null,
  name text not null,
  created_by uuid,
  created_at timestamp(3) with time zone not null default now(),
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  scopes text[],
  constraint api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES "user"(id) ON DELETE SET NULL,
  constraint api_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint api_keys_pkey PRIMARY KEY (prefix)
);

CREATE INDEX api_keys_creator_idx ON public.api_keys USING btree (created_by);

CREATE INDEX api_keys_newest_idx ON public.api_keys USING btree (workspace_id, created_at DESC, prefix DESC) WHERE (revoked_at IS NULL);

CREATE INDEX api_keys_workspace_idx ON public.api_keys USING btree (workspace_id);

create table "app_build_logs" (
  deployment_id uuid not null,
  number bigint not null,
  text text not null,
  constraint app_build_logs_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES app_deployments(id) ON DELETE CASCADE,
  constraint app_build_logs_pkey PRIMARY KEY (deployment_id, number)
);

create table "app_certificates" (
  id uuid not null default gen_random_uuid(),
  app_id uuid,
  domain text not null,
  source text not null,
  chain text,
  key bytea,
  fingerprint text,
  ends_at timestamp(3) with time zone,
  order_url text,
  order_key bytea,
  challenge_token text,
  challenge_answer text,
  failures integer not null default 0,
  error text,
  tried_at timestamp(3) with time zone,
  due_at timestamp(3) with time zone,
  creator integer,
  constraint app_certificates_source_check CHECK ((source = ANY (ARRAY['acme'::text, 'given'::text]))),
  constraint app_certificates_app_id_domain_fkey FOREIGN KEY (app_id, domain) REFERENCES app_domains(app_id, domain) ON DELETE CASCADE,
  constraint app_certificates_pkey PRIMARY KEY (id),
  constraint app_certificates_app_id_domain_key UNIQUE (app_id, domain)
);

CREATE INDEX app_certificates_domain_idx ON public.app_certificates USING btree (domain);

CREATE INDEX app_certificates_due_idx ON public.app_certificates USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE UNIQUE INDEX app_certificates_own_key ON public.app_certificates USING btree (domain) WHERE (app_id IS NULL);

create table "app_deployments" (
  id uuid not null,
  number bigint not null,
  app_id uuid not null,
  status text not null,
  git_ref text not null,
  git_commit text,
  origin_id uuid not null,
  sandbox_id uuid,
  port integer not null,
  error text,
  creator integer not null default 0,
  attempts integer not null default 0,
  is_cancelled boolean not null default false,
  was_live boolean not null default false,
  drain_until timestamp with time zone,
  created_at timestamp(3) with time zone not null default now(),
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  is_sticky boolean not null default false,
  cause text,
  from_agent text,
  constraint app_deployments_cause_check CHECK ((cause = ANY (ARRAY['sandbox_lost'::text, 'host_lost'::text, 'host_drained'::text]))),
  constraint app_deployments_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'building'::text, 'deploying'::text, 'live'::text, 'failed'::text, 'superseded'::text]))),
  constraint app_deployments_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
  constraint app_deployments_pkey PRIMARY KEY (id)
);

CREATE INDEX app_deployments_draining_idx ON public.app_deployments USING btree (drain_until) WHERE (drain_until IS NOT NULL);

CREATE INDEX app_deployments_from_idx ON public.app_deployments USING btree (from_agent, created_at) WHERE (from_agent IS NOT NULL);

CREATE INDEX app_deployments_newest_idx ON public.app_deployments USING btree (app_id, number DESC);

CREATE INDEX app_deployments_pending_idx ON public.app_deployments USING btree (number) WHERE (status = ANY (ARRAY['queued'::text, 'building'::text, 'deploying'::text]));

CREATE INDEX app_deployments_sandbox_idx ON public.app_deployments USING btree (sandbox_id) WHERE (sandbox_id IS NOT NULL);

CREATE UNIQUE INDEX app_deployments_queued_idx ON public.app_deployments USING btree (app_id) WHERE (status = 'queued'::text);

CREATE UNIQUE INDEX app_deployments_under_way_idx ON public.app_deployments USING btree (app_id) WHERE (status = ANY (ARRAY['building'::text, 'deploying'::text]));

create table "app_domains" (
  app_id uuid not null,
  domain text not null,
  token text not null,
  verified_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  constraint app_domains_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
  constraint app_domains_pkey PRIMARY KEY (app_id, domain)
);

CREATE UNIQUE INDEX app_domains_verified_idx ON public.app_domains USING btree (domain) WHERE (verified_at IS NOT NULL);

create table "app_instances" (
  id uuid not null,
  app_id uuid not null,
  deployment_id uuid not null,
  creator integer not null,
  status text not null,
  needed_at timestamp with time zone not null default now(),
  drain_until timestamp with time zone,
  created_at timestamp(3) with time zone not null default now(),
  constraint app_instances_status_check CHECK ((status = ANY (ARRAY['starting'::text, 'serving'::text, 'draining'::text]))),
  constraint app_instances_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
  constraint app_instances_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES app_deployments(id) ON DELETE CASCADE,
  constraint app_instances_pkey PRIMARY KEY (id)
);

CREATE INDEX app_instances_app_idx ON public.app_instances USING btree (app_id);

CREATE INDEX app_instances_deployment_idx ON public.app_instances USING btree (deployment_id);

create table "app_pulls" (
  app_id uuid not null,
  number integer not null,
  told_at timestamp(3) with time zone not null,
  constraint app_pulls_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
  constraint app_pulls_pkey PRIMARY KEY (app_id, number)
);

create table "app_trees" (
  id uuid not null,
  app_id uuid,
  workspace_id uuid not null,
  agent_id text not null,
  key text not null,
  status text not null,
  creator integer not null,
  deletion_due_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  constraint app_trees_status_check CHECK ((status = ANY (ARRAY['making'::text, 'ready'::text]))),
  constraint app_trees_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint app_trees_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE SET NULL,
  constraint app_trees_pkey PRIMARY KEY (id)
);

CREATE INDEX app_trees_agent_idx ON public.app_trees USING btree (agent_id);

CREATE UNIQUE INDEX app_trees_app_idx ON public.app_trees USING btree (app_id) WHERE (app_id IS NOT NULL);

create table "apps" (
  id uuid not null,
  workspace_id uuid not null,
  name text not null,
  host text,
  git_url text not null,
  git_branch text not null,
  framework text,
  runtime text,
  install_command text,
  build_command text,
  start_command text,
  root_directory text,
  env bytea not null,
  port integer not null,
  max_instances integer not null,
  auto_deploy boolean not null,
  idle_timeout_seconds integer not null,
  active_deployment_id uuid,
  deletion_due_at timestamp with time zone,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  preview_deploys boolean not null default false,
  parent_id uuid,
  pull_number integer,
  visibility text not null default 'public'::text,
  unplaced_at timestamp(3) with time zone,
  constraint apps_visibility_check CHECK ((visibility = ANY (ARRAY['public'::text, 'private'::text]))),
  constraint apps_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES apps(id) ON DELETE SET NULL,
  constraint apps_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint apps_pkey PRIMARY KEY (id),
  constraint apps_host_key UNIQUE (host)
);

CREATE INDEX apps_deletion_idx ON public.apps USING btree (deletion_due_at) WHERE (deletion_due_at IS NOT NULL);

CREATE INDEX apps_newest_idx ON public.apps USING btree (workspace_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX apps_name_idx ON public.apps USING btree (workspace_id, lower(name)) WHERE ((deletion_due_at IS NULL) AND (pull_number IS NULL));

CREATE UNIQUE INDEX apps_preview_idx ON public.apps USING btree (parent_id, pull_number) WHERE (deletion_due_at IS NULL);

create table "artifact_copies" (
  id uuid not null default gen_random_uuid(),
  artifact_id uuid not null,
  workspace_id uuid not null,
  state text not null default 'waiting'::text,
  reason text,
  bake text,
  bake_stream_id uuid,
  created_at timestamp(3) with time zone not null default now(),
  stored_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  constraint snapshot_copies_check CHECK (((state = 'ended'::text) = (ended_at IS NOT NULL))),
  constraint snapshot_copies_check1 CHECK (((ended_at IS NOT NULL) = (reason IS NOT NULL))),
  constraint snapshot_copies_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'copying'::text, 'stored'::text, 'ended'::text]))),
  constraint artifact_copies_pkey PRIMARY KEY (id)
);

CREATE INDEX artifact_copies_artifact_idx ON public.artifact_copies USING btree (artifact_id, ended_at);

CREATE INDEX artifact_copies_bake_idx ON public.artifact_copies USING btree (workspace_id, bake) WHERE (ended_at IS NULL);

CREATE INDEX artifact_copies_ended_idx ON public.artifact_copies USING btree (ended_at);

CREATE UNIQUE INDEX artifact_copies_current_idx ON public.artifact_copies USING btree (artifact_id) WHERE (ended_at IS NULL);

create table "artifact_hosts" (
  artifact_id uuid not null,
  agent_id text not null,
  workspace_id uuid not null,
  state text not null default 'copying'::text,
  creator integer not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint snapshot_hosts_state_check CHECK ((state = ANY (ARRAY['copying'::text, 'ready'::text]))),
  constraint snapshot_hosts_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint artifact_hosts_pkey PRIMARY KEY (artifact_id, agent_id)
);

CREATE INDEX artifact_hosts_agent_idx ON public.artifact_hosts USING btree (agent_id);

create table "artifact_moves" (
  id uuid not null default gen_random_uuid(),
  artifact_id uuid not null,
  workspace_id uuid not null,
  from_agent text not null,
  to_agent text,
  state text not null,
  reason text,
  is_final boolean not null default false,
  created_at timestamp(3) with time zone not null default now(),
  finished_at timestamp(3) with time zone,
  constraint snapshot_moves_check CHECK (((to_agent IS NOT NULL) OR (state = 'failed'::text))),
  constraint snapshot_moves_check1 CHECK (((state = 'failed'::text) = (reason IS NOT NULL))),
  constraint snapshot_moves_check2 CHECK (((state = 'copying'::text) = (finished_at IS NULL))),
  constraint snapshot_moves_state_check CHECK ((state = ANY (ARRAY['copying'::text, 'done'::text, 'failed'::text]))),
  constraint snapshot_moves_from_agent_fkey FOREIGN KEY (from_agent) REFERENCES agents(id),
  constraint snapshot_moves_to_agent_fkey FOREIGN KEY (to_agent) REFERENCES agents(id),
  constraint artifact_moves_pkey PRIMARY KEY (id)
);

CREATE INDEX artifact_moves_finished_idx ON public.artifact_moves USING btree (finished_at);

CREATE INDEX artifact_moves_from_idx ON public.artifact_moves USING btree (from_agent, created_at);

CREATE UNIQUE INDEX artifact_moves_open_idx ON public.artifact_moves USING btree (artifact_id) WHERE (finished_at IS NULL);

create table "audit_log" (
  id uuid not null default gen_random_uuid(),
  workspace_id uuid,
  actor_type text not null,
  actor_id text,
  action text not null,
  target text,
  ip text,
  request_id text,
  details jsonb not null default '{}'::jsonb,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  target_kind text,
  constraint audit_log_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'key'::text, 'sandbox'::text, 'operator'::text, 'service'::text]))),
  constraint audit_log_pkey PRIMARY KEY (id)
);

CREATE INDEX audit_log_actor_idx ON public.audit_log USING btree (actor_id) WHERE (actor_type = 'user'::text);

CREATE INDEX audit_log_age_idx ON public.audit_log USING btree (created_at);

CREATE INDEX audit_log_newest_idx ON public.audit_log USING btree (workspace_id, created_at DESC, id DESC);

CREATE INDEX audit_log_target_idx ON public.audit_log USING btree (target);

create table "backup_proofs" (
  id uuid not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint backup_proofs_pkey PRIMARY KEY (id)
);

create table "certificate_orders" (
  workspace_id uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint certificate_orders_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE
);

CREATE INDEX certificate_orders_workspace_idx ON public.certificate_orders USING btree (workspace_id, created_at);

create table "certified_processes" (
  role text not null,
  id text not null,
  version integer not null,
  until timestamp(3) with time zone not null,
  constraint certified_processes_role_check CHECK ((role = ANY (ARRAY['control'::text, 'edge'::text]))),
  constraint certified_processes_pkey PRIMARY KEY (role, id)
);

create table "cluster" (
  id uuid not null default gen_random_uuid(),
  is_only boolean not null default true,
  constraint cluster_is_only_check CHECK (is_only),
  constraint cluster_pkey PRIMARY KEY (id),
  constraint cluster_is_only_key UNIQUE (is_only)
);

create table "credit_grants" (
  id uuid not null default gen_random_uuid(),
  workspace_id uuid not null,
  micro_usd bigint not null,
  reason text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint credit_grants_micro_usd_check CHECK ((micro_usd > 0)),
  constraint credit_grants_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint credit_grants_pkey PRIMARY KEY (id)
);

CREATE INDEX credit_grants_workspace_idx ON public.credit_grants USING btree (workspace_id, created_at);

create table "credit_notices" (
  workspace_id uuid not null,
  month date not null,
  percent integer not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint credit_notices_pkey PRIMARY KEY (workspace_id, month, percent)
);

create table "database_backups" (
  id uuid not null,
  database_id uuid not null,
  origin text not null,
  secrets bytea not null,
  taken_at timestamp(3) with time zone not null default now(),
  verified text not null default 'pending'::text,
  verified_at timestamp(3) with time zone,
  verify_error text,
  proof_due_at timestamp(3) with time zone not null default now(),
  proof_lease_until timestamp(3) with time zone,
  proof_tries integer not null default 0,
  constraint database_backups_origin_check CHECK ((origin = ANY (ARRAY['request'::text, 'daily'::text]))),
  constraint database_backups_verified_check CHECK ((verified = ANY (ARRAY['pending'::text, 'ok'::text, 'failed'::text]))),
  constraint database_backups_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id) ON DELETE CASCADE,
  constraint database_backups_id_fkey FOREIGN KEY (id) REFERENCES snapshots(id) ON DELETE CASCADE,
  constraint database_backups_pkey PRIMARY KEY (id)
);

CREATE INDEX database_backups_database_idx ON public.database_backups USING btree (database_id);

CREATE INDEX database_backups_proof_idx ON public.database_backups USING btree (proof_due_at) WHERE (verified = 'pending'::text);

create table "databases" (
  id uuid not null,
  workspace_id uuid not null,
  label text,
  size text not null,
  status text not null,
  secrets bytea not null,
  broker_token_sha256 bytea not null,
  idle_timeout_seconds integer not null,
  always_on boolean not null default false,
  parent_id uuid,
  deletion_due_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  backup_due_at timestamp(3) with time zone not null default (now() + '00:10:00'::interval),
  disk_mb integer not null default 8192,
  recovered_at timestamp(3) with time zone,
  recovered_until timestamp(3) with time zone,
  constraint databases_size_check CHECK ((size = ANY (ARRAY['1g'::text, '4g'::text, '16g'::text]))),
  constraint databases_status_check CHECK ((status = ANY (ARRAY['provisioning'::text, 'ready'::text, 'deleting'::text]))),
  constraint databases_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint databases_pkey PRIMARY KEY (id)
);

CREATE INDEX databases_backup_due_idx ON public.databases USING btree (backup_due_at) WHERE (status = 'ready'::text);

CREATE INDEX databases_due_idx ON public.databases USING btree (deletion_due_at) WHERE (deletion_due_at IS NOT NULL);

CREATE INDEX databases_newest_idx ON public.databases USING btree (workspace_id, created_at DESC, id DESC);

create table "events" (
  workspace_id uuid not null,
  ts timestamp(3) with time zone not null,
  object_id uuid not null,
  agent_id text,
  type text not null,
  code text not null,
  message text not null,
  metadata jsonb not null,
  kind text not null default 'sandbox'::text,
  refs text[] not null default '{}'::text[],
  xid xid8 not null default pg_current_xact_id(),
  seq bigint not null default nextval('events_seq'::regclass),
  constraint events_kind_check CHECK ((kind = ANY (ARRAY['sandbox'::text, 'build'::text, 'deploy'::text, 'database'::text]))),
  constraint events_pkey PRIMARY KEY (workspace_id, ts, object_id)
);

CREATE INDEX events_arrival_idx ON ONLY public.events USING btree (workspace_id, xid, seq);

CREATE INDEX events_sandbox_idx ON ONLY public.events USING btree (workspace_id, object_id, ts);

CREATE INDEX events_xid_idx ON ONLY public.events USING btree (xid);

create table "fleet_authority" (
  is_only boolean not null default true,
  certificate text not null,
  key bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  version integer not null default 0,
  other_certificate text,
  other_key bytea,
  constraint fleet_authority_check CHECK (((other_key IS NULL) OR (other_certificate IS NOT NULL))),
  constraint fleet_authority_is_only_check CHECK (is_only),
  constraint fleet_authority_pkey PRIMARY KEY (is_only)
);

create table "git_connects" (
  state text not null,
  workspace_id uuid not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint git_connects_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint git_connects_pkey PRIMARY KEY (state)
);

create table "git_deliveries" (
  id text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint git_deliveries_pkey PRIMARY KEY (id)
);

CREATE INDEX git_deliveries_age_idx ON public.git_deliveries USING btree (created_at);

create table "git_installations" (
  installation_id bigint not null,
  workspace_id uuid not null,
  account_login text not null,
  account_type text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint git_installations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint git_installations_pkey PRIMARY KEY (installation_id)
);

CREATE INDEX git_installations_workspace_idx ON public.git_installations USING btree (workspace_id, created_at DESC);

create table "host_leases" (
  agent_id text not null,
  generation integer not null default 1,
  renewals integer not null default 1,
  seconds double precision not null,
  is_confirmed boolean not null default false,
  renewed_at timestamp(3) with time zone not null default now(),
  ended_at timestamp(3) with time zone,
  ended_in text,
  constraint host_leases_check CHECK (((ended_at IS NULL) = (ended_in IS NULL))),
  constraint host_leases_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint host_leases_pkey PRIMARY KEY (agent_id)
);

create table "host_tokens" (
  hash bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  expires_at timestamp(3) with time zone not null,
  public_key bytea,
  host_id uuid,
  for_host uuid,
  constraint host_tokens_check CHECK (((public_key IS NULL) = (host_id IS NULL))),
  constraint host_tokens_pkey PRIMARY KEY (hash)
);

CREATE INDEX host_tokens_expires_at_idx ON public.host_tokens USING btree (expires_at);

create table "idempotent_requests" (
  workspace_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  creator integer not null,
  resource_id uuid not null,
  status integer,
  answer bytea,
  created_at timestamp(3) with time zone not null default now(),
  constraint idempotent_requests_check CHECK (((status IS NULL) = (answer IS NULL))),
  constraint idempotent_requests_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint idempotent_requests_pkey PRIMARY KEY (workspace_id, key)
);

CREATE INDEX idempotent_requests_age_idx ON public.idempotent_requests USING btree (created_at);

create table "invitation" (
  id uuid not null default gen_random_uuid(),
  "organizationId" uuid not null,
  email text not null,
  role text,
  status text not null,
  "expiresAt" timestamp with time zone not null,
  "createdAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  "inviterId" uuid not null,
  constraint "invitation_inviterId_fkey" FOREIGN KEY ("inviterId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint "invitation_organizationId_fkey" FOREIGN KEY ("organizationId") REFERENCES organization(id) ON DELETE CASCADE,
  constraint invitation_pkey PRIMARY KEY (id)
);

CREATE INDEX "invitation_organizationId_idx" ON public.invitation USING btree ("organizationId");

CREATE INDEX invitation_email_idx ON public.invitation USING btree (email);

create table "invitations" (
  id uuid not null default gen_random_uuid(),
  workspace_id uuid not null,
  email text not null,
  role text not null,
  token_hash bytea not null,
  invited_by uuid,
  created_at timestamp(3) with time zone not null default now(),
  expires_at timestamp(3) with time zone not null,
  constraint invitations_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text]))),
  constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES "user"(id) ON DELETE SET NULL,
  constraint invitations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_hash_key UNIQUE (token_hash),
  constraint invitations_workspace_id_email_key UNIQUE (workspace_id, email)
);

CREATE INDEX invitations_email_idx ON public.invitations USING btree (email);

create table "joined_hosts" (
  id uuid not null,
  url text not null,
  secret bytea not null,
  edge_secret bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  labels jsonb not null default '{}'::jsonb,
  zone text,
  shown_version integer not null default 0,
  constraint joined_hosts_pkey PRIMARY KEY (id)
);

create table "jwks" (
  id uuid not null default gen_random_uuid(),
  "publicKey" text not null,
  "privateKey" text not null,
  "createdAt" timestamp with time zone not null,
  "expiresAt" timestamp with time zone,
  alg text,
  crv text,
  constraint jwks_pkey PRIMARY KEY (id)
);

create table "leases" (
  name text not null,
  holder uuid not null,
  creator integer not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint leases_pkey PRIMARY KEY (name)
);

create table "ledger" (
  meter_id uuid not null,
  began_at timestamp(3) with time zone not null,
  day date not null,
  revision integer not null,
  workspace_id uuid not null,
  state text not null,
  seconds bigint not null,
  cpu_seconds bigint not null,
  micro_usd bigint not null,
  posted_at timestamp(3) with time zone not null default now(),
  constraint ledger_pkey PRIMARY KEY (meter_id, began_at, day, revision)
);

CREATE INDEX ledger_workspace_idx ON public.ledger USING btree (workspace_id, day);

create table "lineage" (
  id uuid not null,
  workspace_id uuid not null,
  kind text not null,
  link text not null,
  parent_id uuid,
  root_id uuid not null,
  name text,
  template text not null,
  cpu integer not null,
  memory_mb integer not null,
  size_bytes bigint,
  fork_tree_id uuid,
  promoted boolean not null default false,
  created_at timestamp(3) with time zone not null,
  deleted_at timestamp(3) with time zone,
  constraint lineage_kind_check CHECK ((kind = ANY (ARRAY['sandbox'::text, 'snapshot'::text]))),
  constraint lineage_link_check CHECK ((link = ANY (ARRAY['template'::text, 'fork'::text, 'from_snapshot'::text, 'snapshot_of'::text]))),
  constraint lineage_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint lineage_pkey PRIMARY KEY (id)
);

CREATE INDEX lineage_deleted_idx ON public.lineage USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE INDEX lineage_root_idx ON public.lineage USING btree (root_id);

CREATE INDEX lineage_workspace_idx ON public.lineage USING btree (workspace_id);

create table "mails" (
  id uuid not null default gen_random_uuid(),
  sealed bytea not null,
  due_at timestamp(3) with time zone not null default now(),
  created_at timestamp(3) with time zone not null default now(),
  constraint mails_pkey PRIMARY KEY (id)
);

CREATE INDEX mails_due_idx ON public.mails USING btree (due_at);

create table "member" (
  id uuid not null default gen_random_uuid(),
  "organizationId" uuid not null,
  "userId" uuid not null,
  role text not null,
  "createdAt" timestamp with time zone not null,
  constraint "member_organizationId_fkey" FOREIGN KEY ("organizationId") REFERENCES organization(id) ON DELETE CASCADE,
  constraint "member_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint member_pkey PRIMARY KEY (id)
);

CREATE INDEX "member_organizationId_idx" ON public.member USING btree ("organizationId");

CREATE INDEX "member_userId_idx" ON public.member USING btree ("userId");

CREATE UNIQUE INDEX "member_organizationId_userId_uidx" ON public.member USING btree ("organizationId", "userId");

create table "meter_transitions" (
  meter_id uuid not null,
  at timestamp(3) with time zone not null,
  state text not null,
  cpu integer not null,
  micro_usd_per_month bigint not null,
  constraint meter_transitions_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'hibernated'::text, 'storage'::text, 'ended'::text]))),
  constraint meter_transitions_meter_id_fkey FOREIGN KEY (meter_id) REFERENCES meters(id),
  constraint meter_transitions_pkey PRIMARY KEY (meter_id, at)
);

create table "meters" (
  id uuid not null,
  kind text not null,
  workspace_id uuid not null,
  template text,
  cpu integer not null,
  memory_mib integer not null,
  managed_by text,
  managed_id uuid,
  state text not null default 'ended'::text,
  since timestamp(3) with time zone not null default '-infinity'::timestamp with time zone,
  micro_usd_per_month bigint not null default 0,
  constraint meters_kind_check CHECK ((kind = ANY (ARRAY['sandbox'::text, 'storage'::text]))),
  constraint meters_pkey PRIMARY KEY (id)
);

CREATE INDEX meters_open_idx ON public.meters USING btree (workspace_id) WHERE (state <> 'ended'::text);

create table "operator_keys" (
  prefix text not null,
  operator_id uuid not null,
  hash bytea not null,
  name text not null,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  constraint operator_keys_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint operator_keys_pkey PRIMARY KEY (prefix)
);

CREATE INDEX operator_keys_operator_idx ON public.operator_keys USING btree (operator_id, created_at DESC, prefix DESC);

create table "operators" (
  id uuid not null default gen_random_uuid(),
  name text not null,
  role text not null,
  is_bootstrap boolean not null default false,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  removed_at timestamp(3) with time zone,
  constraint operators_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'owner'::text]))),
  constraint operators_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX operators_bootstrap_idx ON public.operators USING btree (is_bootstrap) WHERE is_bootstrap;

create table "organization" (
  id uuid not null default gen_random_uuid(),
  name text not null,
  slug text not null,
  logo text,
  "createdAt" timestamp with time zone not null,
  metadata text,
  suspended_at timestamp(3) with time zone,
  deletion_due_at timestamp(3) with time zone,
  constraint organization_pkey PRIMARY KEY (id),
  constraint organization_slug_key UNIQUE (slug)
);

CREATE INDEX organization_deletion_idx ON public.organization USING btree (deletion_due_at) WHERE (deletion_due_at IS NOT NULL);

create table "overage_days" (
  workspace_id uuid not null,
  day date not null,
  mib_hours bigint not null,
  reported_at timestamp(3) with time zone,
  constraint overage_days_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint overage_days_pkey PRIMARY KEY (workspace_id, day)
);

CREATE INDEX overage_days_unreported_idx ON public.overage_days USING btree (day) WHERE (reported_at IS NULL);

create table "passkey" (
  id uuid not null default gen_random_uuid(),
  name text,
  "publicKey" text not null,
  "userId" uuid not null,
  "credentialID" text not null,
  counter bigint not null,
  "deviceType" text not null,
  "backedUp" boolean not null,
  transports text,
  "createdAt" timestamp with time zone,
  aaguid text,
  constraint "passkey_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint passkey_pkey PRIMARY KEY (id),
  constraint "passkey_credentialID_key" UNIQUE ("credentialID")
);

CREATE INDEX "passkey_userId_idx" ON public.passkey USING btree ("userId");

create table "plan_changes" (
  workspace_id uuid not null,
  at timestamp(3) with time zone not null default now(),
  plan text not null,
  constraint plan_changes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint plan_changes_pkey PRIMARY KEY (workspace_id, at)
);

create table "preview_codes" (
  code_hash bytea not null,
  user_id uuid not null,
  session_id uuid not null,
  origin text not null,
  state text not null,
  expires_at timestamp(3) with time zone not null,
  constraint preview_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE,
  constraint preview_codes_pkey PRIMARY KEY (code_hash)
);

CREATE INDEX preview_codes_of_user ON public.preview_codes USING btree (user_id);

create table "preview_links" (
  id uuid not null default gen_random_uuid(),
  workspace_id uuid not null,
  sandbox_id uuid,
  port integer,
  app_id uuid,
  label text,
  token_hash bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  expires_at timestamp(3) with time zone not null,
  constraint preview_links_check CHECK ((((sandbox_id IS NULL) = (port IS NULL)) AND ((sandbox_id IS NULL) <> (app_id IS NULL)))),
  constraint preview_links_port_check CHECK (((port >= 1) AND (port <= 65535))),
  constraint preview_links_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
  constraint preview_links_sandbox_id_fkey FOREIGN KEY (sandbox_id) REFERENCES sandboxes(id) ON DELETE CASCADE,
  constraint preview_links_pkey PRIMARY KEY (id),
  constraint preview_links_token_hash_key UNIQUE (token_hash)
);

CREATE INDEX preview_links_by_end ON public.preview_links USING btree (expires_at);

CREATE INDEX preview_links_of_app ON public.preview_links USING btree (app_id);

CREATE INDEX preview_links_of_port ON public.preview_links USING btree (sandbox_id, port);

create table "rate_buckets" (
  workspace_id uuid not null,
  tokens double precision not null,
  granted integer not null,
  refilled_at timestamp with time zone not null,
  constraint rate_buckets_pkey PRIMARY KEY (workspace_id)
);

create table "reconcile_waiting" (
  agent_id text not null,
  action text not null,
  kind text not null,
  id text not null,
  workspace_id text not null,
  since timestamp(3) with time zone not null default now(),
  confirmed_at timestamp(3) with time zone,
  constraint reconcile_waiting_action_check CHECK ((action = ANY (ARRAY['delete'::text, 'forget'::text]))),
  constraint reconcile_waiting_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint reconcile_waiting_pkey PRIMARY KEY (agent_id, action, kind, id)
);

create table "removed_objects" (
  id uuid not null,
  agent_id text not null,
  removed_at timestamp(3) with time zone not null default now(),
  constraint removed_objects_pkey PRIMARY KEY (id, agent_id)
);

CREATE INDEX removed_objects_oldest_idx ON public.removed_objects USING btree (removed_at);

create table "sandbox_copies" (
  id uuid not null default gen_random_uuid(),
  sandbox_id uuid not null,
  workspace_id uuid not null,
  agent_id text not null,
  state text not null,
  reason text,
  bake text,
  bake_stream_id uuid,
  source_seq bigint,
  is_source_lost boolean not null default false,
  is_settled boolean not null default false,
  created_at timestamp(3) with time zone not null default now(),
  stored_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  incarnation text not null default database_incarnation(),
  constraint sandbox_copies_check CHECK (((state = ANY (ARRAY['taken'::text, 'ended'::text])) = (ended_at IS NOT NULL))),
  constraint sandbox_copies_check1 CHECK (((ended_at IS NOT NULL) = (reason IS NOT NULL))),
  constraint sandbox_copies_check2 CHECK (((ended_at IS NOT NULL) OR (NOT is_settled))),
  constraint sandbox_copies_state_check CHECK ((state = ANY (ARRAY['leaving'::text, 'copying'::text, 'stored'::text, 'taken'::text, 'ended'::text]))),
  constraint sandbox_copies_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint sandbox_copies_pkey PRIMARY KEY (id)
);

CREATE INDEX sandbox_copies_agent_idx ON public.sandbox_copies USING btree (agent_id) WHERE (NOT is_settled);

CREATE INDEX sandbox_copies_bake_idx ON public.sandbox_copies USING btree (workspace_id, bake) WHERE (ended_at IS NULL);

CREATE INDEX sandbox_copies_ended_idx ON public.sandbox_copies USING btree (ended_at);

CREATE INDEX sandbox_copies_sandbox_idx ON public.sandbox_copies USING btree (sandbox_id, ended_at);

CREATE UNIQUE INDEX sandbox_copies_held_idx ON public.sandbox_copies USING btree (sandbox_id) WHERE (NOT is_settled);

create table "sandbox_creates" (
  sandbox_id uuid not null,
  workspace_id uuid not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint sandbox_creates_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint sandbox_creates_pkey PRIMARY KEY (sandbox_id)
);

CREATE INDEX sandbox_creates_recent_idx ON public.sandbox_creates USING btree (workspace_id, created_at);

create table "sandbox_moves" (
  id uuid not null default gen_random_uuid(),
  sandbox_id uuid not null,
  workspace_id uuid not null,
  from_agent text not null,
  to_agent text,
  state text not null,
  reason text,
  is_final boolean not null default false,
  was_running boolean not null default false,
  bake text,
  bytes bigint,
  source_seq bigint,
  left_behind text,
  created_at timestamp(3) with time zone not null default now(),
  committed_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  copy_id uuid,
  backup_id uuid,
  constraint sandbox_moves_check CHECK (((to_agent IS NOT NULL) OR (state = 'failed'::text))),
  constraint sandbox_moves_check1 CHECK (((state = 'failed'::text) = (reason IS NOT NULL))),
  constraint sandbox_moves_check2 CHECK (((state = ANY (ARRAY['committed'::text, 'done'::text])) = (committed_at IS NOT NULL))),
  constraint sandbox_moves_check3 CHECK (((finished_at IS NULL) OR (state = ANY (ARRAY['done'::text, 'failed'::text])))),
  constraint sandbox_moves_check4 CHECK (((left_behind IS NULL) OR (state = ANY (ARRAY['done'::text, 'failed'::text])))),
  constraint sandbox_moves_state_check CHECK ((state = ANY (ARRAY['leaving'::text, 'copying'::text, 'committed'::text, 'done'::text, 'failed'::text]))),
  constraint sandbox_moves_from_agent_fkey FOREIGN KEY (from_agent) REFERENCES agents(id),
  constraint sandbox_moves_to_agent_fkey FOREIGN KEY (to_agent) REFERENCES agents(id),
  constraint sandbox_moves_pkey PRIMARY KEY (id)
);

CREATE INDEX sandbox_moves_finished_idx ON public.sandbox_moves USING btree (finished_at);

CREATE INDEX sandbox_moves_from_idx ON public.sandbox_moves USING btree (from_agent, created_at);

CREATE INDEX sandbox_moves_sandbox_idx ON public.sandbox_moves USING btree (sandbox_id);

CREATE INDEX sandbox_moves_unsettled_idx ON public.sandbox_moves USING btree (created_at) WHERE ((finished_at IS NULL) OR (left_behind IS NOT NULL));

CREATE UNIQUE INDEX sandbox_moves_open_idx ON public.sandbox_moves USING btree (sandbox_id) WHERE (finished_at IS NULL);

create table "sandbox_ports" (
  sandbox_id uuid not null,
  port integer not null,
  label text,
  created_at timestamp(3) with time zone not null default now(),
  constraint sandbox_ports_port_check CHECK (((port >= 1) AND (port <= 65535))),
  constraint sandbox_ports_sandbox_id_fkey FOREIGN KEY (sandbox_id) REFERENCES sandboxes(id) ON DELETE CASCADE,
  constraint sandbox_ports_pkey PRIMARY KEY (sandbox_id, port)
);

create table "sandboxes" (
  id uuid not null,
  workspace_id uuid not null,
  agent_id text not null,
  creator integer not null,
  template text not null,
  status text not null,
  boot_ms integer,
  boot_mode text,
  guest_ip text,
  cpu integer not null,
  memory_mb integer not null,
  metadata jsonb not null default '{}'::jsonb,
  volumes jsonb not null default '[]'::jsonb,
  persistent boolean not null,
  ttl_seconds integer not null,
  idle_timeout_seconds integer not null,
  expires_at timestamp(3) with time zone,
  from_snapshot text,
  parent_id uuid,
  fork_tree_id uuid,
  managed_by text,
  last_event_seq bigint not null default 0,
  created_at timestamp(3) with time zone not null default now(),
  deletion_due_at timestamp(3) with time zone,
  lifecycle_unsettled_at timestamp(3) with time zone,
  egress text not null default 'internet'::text,
  managed_id uuid,
  credit_paused_at timestamp(3) with time zone,
  credit_due_at timestamp(3) with time zone,
  on_timeout text not null default 'delete'::text,
  timeout_begun_at timestamp(3) with time zone,
  timeout_failed_at timestamp(3) with time zone,
  visibility text not null default 'public'::text,
  hibernated_at timestamp(3) with time zone,
  constraint sandboxes_boot_mode_check CHECK ((boot_mode = ANY (ARRAY['cold'::text, 'snapshot'::text, 'pool'::text, 'fork'::text]))),
  constraint sandboxes_egress_check CHECK ((egress = ANY (ARRAY['internet'::text, 'none'::text]))),
  constraint sandboxes_expires_at_check CHECK (
CASE
    WHEN persistent THEN (expires_at IS NULL)
    ELSE ((expires_at IS NOT NULL) OR ((on_timeout = 'pause'::text) AND (status = 'hibernated'::text) AND (managed_by IS NULL)))
END),
  constraint sandboxes_managed_by_check CHECK ((managed_by = ANY (ARRAY['app'::text, 'database'::text, 'proof'::text]))),
  constraint sandboxes_on_timeout_check CHECK ((on_timeout = ANY (ARRAY['delete'::text, 'pause'::text]))),
  constraint sandboxes_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'running'::text, 'paused'::text, 'hibernated'::text, 'failed'::text]))),
  constraint sandboxes_visibility_check CHECK ((visibility = ANY (ARRAY['public'::text, 'private'::text]))),
  constraint sandboxes_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint sandboxes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id),
  constraint sandboxes_pkey PRIMARY KEY (id)
);

CREATE INDEX sandboxes_agent_idx ON public.sandboxes USING btree (agent_id);

CREATE INDEX sandboxes_credit_idx ON public.sandboxes USING btree (workspace_id) WHERE (credit_paused_at IS NOT NULL);

CREATE INDEX sandboxes_deletion_idx ON public.sandboxes USING btree (deletion_due_at) WHERE (deletion_due_at IS NOT NULL);

CREATE INDEX sandboxes_expiry_idx ON public.sandboxes USING btree (expires_at) WHERE (deletion_due_at IS NULL);

CREATE INDEX sandboxes_hibernated_idx ON public.sandboxes USING btree (hibernated_at) WHERE (hibernated_at IS NOT NULL);

CREATE INDEX sandboxes_newest_idx ON public.sandboxes USING btree (workspace_id, created_at DESC, id DESC);

CREATE INDEX sandboxes_snapshot_idx ON public.sandboxes USING btree (from_snapshot) WHERE (from_snapshot IS NOT NULL);

CREATE INDEX sandboxes_tree_idx ON public.sandboxes USING btree (fork_tree_id) WHERE (fork_tree_id IS NOT NULL);

CREATE INDEX sandboxes_unsettled_idx ON public.sandboxes USING btree (agent_id) WHERE (lifecycle_unsettled_at IS NOT NULL);

create table "sealing_keys" (
  version integer not null,
  sealed bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  active_at timestamp(3) with time zone not null,
  resealed_at timestamp(3) with time zone,
  constraint sealing_keys_version_check CHECK ((version > 0)),
  constraint sealing_keys_pkey PRIMARY KEY (version)
);

create table "session" (
  id uuid not null default gen_random_uuid(),
  "expiresAt" timestamp with time zone not null,
  token text not null,
  "createdAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  "updatedAt" timestamp with time zone not null,
  "ipAddress" text,
  "userAgent" text,
  "userId" uuid not null,
  "activeOrganizationId" text,
  constraint "session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint session_pkey PRIMARY KEY (id),
  constraint session_token_key UNIQUE (token)
);

CREATE INDEX "session_userId_idx" ON public.session USING btree ("userId");

create table "sign_in_links" (
  user_id uuid not null,
  token_sha256 bytea not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE,
  constraint sign_in_links_pkey PRIMARY KEY (user_id),
  constraint sign_in_links_token_sha256_key UNIQUE (token_sha256)
);

create table "snapshots" (
  id uuid not null,
  workspace_id uuid not null,
  agent_id text not null,
  sandbox_id uuid not null,
  creator integer not null,
  template text not null,
  cpu integer not null,
  memory_mb integer not null,
  size_bytes bigint,
  origin text not null,
  status text not null,
  deletion_due_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  egress text not null default 'internet'::text,
  managed_by text,
  name text,
  visibility text not null default 'public'::text,
  is_missing boolean not null default false,
  constraint snapshots_check CHECK (((status = 'ready'::text) = (size_bytes IS NOT NULL))),
  constraint snapshots_egress_check CHECK ((egress = ANY (ARRAY['internet'::text, 'none'::text]))),
  constraint snapshots_origin_check CHECK ((origin = ANY (ARRAY['user'::text, 'fork'::text, 'backup'::text]))),
  constraint snapshots_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'ready'::text]))),
  constraint snapshots_visibility_check CHECK ((visibility = ANY (ARRAY['public'::text, 'private'::text]))),
  constraint snapshots_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint snapshots_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id),
  constraint snapshots_pkey PRIMARY KEY (id)
);

CREATE INDEX snapshots_agent_idx ON public.snapshots USING btree (agent_id);

CREATE INDEX snapshots_forks_idx ON public.snapshots USING btree (created_at) WHERE (origin = 'fork'::text);

CREATE INDEX snapshots_newest_idx ON public.snapshots USING btree (workspace_id, created_at DESC, id DESC);

create table "ssh_keys" (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  name text not null,
  blob bytea not null,
  fingerprint text not null,
  created_at timestamp(3) with time zone not null default now(),
  last_used_at timestamp(3) with time zone,
  constraint ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE,
  constraint ssh_keys_pkey PRIMARY KEY (id),
  constraint ssh_keys_user_id_fingerprint_key UNIQUE (user_id, fingerprint)
);

CREATE INDEX ssh_keys_fingerprint_idx ON public.ssh_keys USING btree (fingerprint);

create table "ssh_service_keys" (
  purpose text not null,
  key bytea not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint ssh_service_keys_purpose_check CHECK ((purpose = ANY (ARRAY['host'::text, 'authority'::text]))),
  constraint ssh_service_keys_pkey PRIMARY KEY (purpose)
);

create table "stored_archives" (
  id uuid not null,
  workspace_id uuid not null,
  listed_agent text,
  cursor text not null default ''::text,
  error text,
  due_at timestamp(3) with time zone,
  deletion_due_at timestamp(3) with time zone,
  constraint stored_archives_pkey PRIMARY KEY (id)
);

create table "stored_segments" (
  archive_id uuid not null,
  name text not null,
  bytes integer not null,
  taken_at timestamp(3) with time zone not null,
  state text not null default 'storing'::text,
  reason text,
  recorded_at timestamp(3) with time zone not null default now(),
  constraint stored_segments_check CHECK (((state = 'dropped'::text) = (reason IS NOT NULL))),
  constraint stored_segments_state_check CHECK ((state = ANY (ARRAY['storing'::text, 'stored'::text, 'dropped'::text]))),
  constraint stored_segments_archive_id_fkey FOREIGN KEY (archive_id) REFERENCES stored_archives(id),
  constraint stored_segments_pkey PRIMARY KEY (archive_id, name)
);

CREATE INDEX stored_segments_dropped_idx ON public.stored_segments USING btree (archive_id) WHERE (state = 'dropped'::text);

create table "stored_streams" (
  id uuid not null default gen_random_uuid(),
  workspace_id uuid not null,
  copy_id uuid not null,
  bake text,
  state text not null default 'storing'::text,
  chunks integer not null default 0,
  bytes bigint not null default 0,
  reason text,
  created_at timestamp(3) with time zone not null default now(),
  deletion_due_at timestamp(3) with time zone,
  constraint stored_streams_check CHECK (((state = 'dropped'::text) = (deletion_due_at IS NOT NULL))),
  constraint stored_streams_check1 CHECK (((state = 'dropped'::text) = (reason IS NOT NULL))),
  constraint stored_streams_state_check CHECK ((state = ANY (ARRAY['storing'::text, 'stored'::text, 'dropped'::text]))),
  constraint stored_streams_pkey PRIMARY KEY (id)
);

CREATE INDEX stored_streams_copy_idx ON public.stored_streams USING btree (copy_id);

CREATE UNIQUE INDEX stored_streams_bake_idx ON public.stored_streams USING btree (workspace_id, bake) WHERE (state = 'stored'::text);

create table "template_builds" (
  id uuid not null,
  workspace_id uuid not null,
  agent_id text not null,
  creator integer not null,
  name text not null,
  status text not null,
  stage text not null,
  percent integer not null default 0,
  error text,
  size_mb integer not null,
  bytes bigint not null,
  created_at timestamp(3) with time zone not null default now(),
  started_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  constraint template_builds_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'baking'::text, 'done'::text, 'failed'::text]))),
  constraint template_builds_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint template_builds_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint template_builds_pkey PRIMARY KEY (id)
);

CREATE INDEX template_builds_newest_idx ON public.template_builds USING btree (workspace_id, name, created_at DESC, id DESC);

CREATE INDEX template_builds_open_idx ON public.template_builds USING btree (agent_id) WHERE (ended_at IS NULL);

CREATE INDEX template_builds_workspace_idx ON public.template_builds USING btree (workspace_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX template_builds_name_idx ON public.template_builds USING btree (workspace_id, name) WHERE (ended_at IS NULL);

create table "templates" (
  name text not null,
  workspace_id uuid,
  rootfs_path text not null,
  size_bytes bigint not null,
  cpu integer not null,
  memory_mb integer not null,
  meta jsonb not null,
  created_at timestamp(3) with time zone not null default now(),
  id uuid,
  agent_id text,
  updated_at timestamp(3) with time zone not null default now(),
  is_missing boolean not null default false,
  constraint templates_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint templates_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint templates_name_workspace_id_key UNIQUE NULLS NOT DISTINCT (name, workspace_id)
);

CREATE UNIQUE INDEX templates_id_idx ON public.templates USING btree (id);

create table "twoFactor" (
  id uuid not null default gen_random_uuid(),
  secret text not null,
  "backupCodes" text not null,
  "userId" uuid not null,
  verified boolean not null default true,
  "failedVerificationCount" integer not null default 0,
  "lockedUntil" timestamp with time zone,
  constraint "twoFactor_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user"(id) ON DELETE CASCADE,
  constraint "twoFactor_pkey" PRIMARY KEY (id),
  constraint "twoFactor_userId_key" UNIQUE ("userId")
);

create table "usage_months" (
  workspace_id uuid not null,
  month date not null,
  micro_usd bigint not null,
  cpu_seconds bigint not null,
  constraint usage_months_pkey PRIMARY KEY (workspace_id, month)
);

create table "used_totp_codes" (
  user_id uuid not null,
  code text not null,
  used_at timestamp(3) with time zone not null default now(),
  constraint used_totp_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE,
  constraint used_totp_codes_pkey PRIMARY KEY (user_id, code)
);

CREATE INDEX used_totp_codes_used_at_idx ON public.used_totp_codes USING btree (used_at);

create table "user" (
  id uuid not null default gen_random_uuid(),
  name text not null,
  email text not null,
  "emailVerified" boolean not null,
  image text,
  "createdAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  "updatedAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  current_workspace_id uuid,
  "twoFactorEnabled" boolean not null default false,
  tokens_valid_from timestamp(3) with time zone,
  constraint user_current_workspace_id_fkey FOREIGN KEY (current_workspace_id) REFERENCES organization(id) ON DELETE SET NULL,
  constraint user_pkey PRIMARY KEY (id),
  constraint user_email_key UNIQUE (email)
);

create table "verification" (
  id uuid not null default gen_random_uuid(),
  identifier text not null,
  value text not null,
  "expiresAt" timestamp with time zone not null,
  "createdAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  "updatedAt" timestamp with time zone not null default CURRENT_TIMESTAMP,
  constraint verification_pkey PRIMARY KEY (id)
);

CREATE INDEX verification_identifier_idx ON public.verification USING btree (identifier);

create table "volumes" (
  id uuid not null,
  workspace_id uuid not null,
  agent_id text not null,
  creator integer not null,
  kind text not null,
  name text not null,
  size_mb integer not null,
  status text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint volumes_kind_check CHECK ((kind = ANY (ARRAY['volume'::text, 'snapshot'::text]))),
  constraint volumes_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'ready'::text]))),
  constraint volumes_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint volumes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id),
  constraint volumes_pkey PRIMARY KEY (id)
);

CREATE INDEX volumes_agent_idx ON public.volumes USING btree (agent_id);

CREATE INDEX volumes_newest_idx ON public.volumes USING btree (workspace_id, kind, created_at DESC, id DESC);

CREATE INDEX volumes_snapshots_idx ON public.volumes USING btree (workspace_id, name, created_at DESC, id DESC) WHERE (kind = 'snapshot'::text);

CREATE UNIQUE INDEX volumes_name_idx ON public.volumes USING btree (workspace_id, name) WHERE (kind = 'volume'::text);

create table "webhook_deliveries" (
  id uuid not null default gen_random_uuid(),
  webhook_id uuid not null,
  type text not null,
  payload jsonb not null,
  status text not null default 'pending'::text,
  due_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone not null,
  attempts integer not null default 0,
  tries integer not null default 0,
  log jsonb not null default '[]'::jsonb,
  response_status integer,
  duration_ms integer,
  error text,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  finished_at timestamp(3) with time zone,
  constraint webhook_deliveries_check CHECK (((status = 'pending'::text) = (due_at IS NOT NULL))),
  constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
  constraint webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE,
  constraint webhook_deliveries_pkey PRIMARY KEY (id)
);

CREATE INDEX webhook_deliveries_due_idx ON public.webhook_deliveries USING btree (webhook_id, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_deliveries_finished_idx ON public.webhook_deliveries USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX webhook_deliveries_newest_idx ON public.webhook_deliveries USING btree (webhook_id, created_at DESC, id DESC);

create table "webhooks" (
  id uuid not null,
  workspace_id uuid not null,
  url text not null,
  events text[] not null,
  objects text[] not null default '{}'::text[],
  description text,
  enabled boolean not null default true,
  disabled_reason text,
  disabled_at timestamp(3) with time zone,
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamp(3) with time zone,
  failures integer not null default 0,
  failing_since timestamp(3) with time zone,
  quiet_until timestamp(3) with time zone,
  holder uuid,
  creator integer not null default 0,
  held_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  constraint webhooks_check CHECK ((enabled = (disabled_reason IS NULL))),
  constraint webhooks_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['user'::text, 'gone'::text, 'failing'::text, 'backlog'::text]))),
  constraint webhooks_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint webhooks_pkey PRIMARY KEY (id)
);

CREATE INDEX webhooks_newest_idx ON public.webhooks USING btree (workspace_id, created_at DESC, id DESC);

create table "workspace_accounts" (
  workspace_id uuid not null,
  plan text not null,
  plan_source text not null,
  rate_burst integer,
  rate_per_second integer,
  exhausted_until timestamp(3) with time zone,
  customer_id text,
  subscription_id text,
  subscription_status text,
  synced_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default now(),
  required_labels jsonb not null default '{}'::jsonb,
  required_zone text,
  constraint workspace_accounts_plan_source_check CHECK ((plan_source = ANY (ARRAY['default'::text, 'operator'::text, 'subscription'::text]))),
  constraint workspace_accounts_rate_burst_check CHECK ((rate_burst > 0)),
  constraint workspace_accounts_rate_per_second_check CHECK ((rate_per_second > 0)),
  constraint workspace_accounts_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES organization(id) ON DELETE CASCADE,
  constraint workspace_accounts_pkey PRIMARY KEY (workspace_id),
  constraint workspace_accounts_customer_id_key UNIQUE (customer_id),
  constraint workspace_accounts_subscription_id_key UNIQUE (subscription_id)
);

CREATE INDEX workspace_accounts_exhausted_idx ON public.workspace_accounts USING btree (exhausted_until) WHERE (exhausted_until IS NOT NULL);

CREATE INDEX workspace_accounts_placement_idx ON public.workspace_accounts USING btree (workspace_id) WHERE ((required_labels <> '{}'::jsonb) OR (required_zone IS NOT NULL));

create sequence app_build_logs_number_seq as bigint;

create sequence app_deployments_number_seq as bigint;

create sequence control_process_numbers as integer;

create sequence events_seq as bigint;
