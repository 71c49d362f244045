import { type Kysely, sql } from 'kysely'

/** Ids in one notification. PostgreSQL allows 8000 bytes, and a domain has up to 253 characters. */
const MAX_IDS = 25

/** A table whose triggers notify of its changes, and the objects of the API that these concern. */
interface Source {
  readonly table: string
  /** Only new rows are told, and of them only those that fulfil this condition. Default: every change is told. */
  readonly onlyNew?: string
  /** Only updates of these columns are told. Default: all updates. */
  readonly columns?: string
  /**
   * Updates are not told in a transaction that says so ({@link TELLS_LATER}), and `tell_changed_TABLE` tells them later.
   */
  readonly canTellLater?: true
  /**
   * Selects (workspace, kind, owner, id) of changed rows. Without a workspace, all are concerned. `owner`: the user
   * who owns the object.
   */
  readonly objects: (rows: string) => string
}

const plain = (table: string, kind: string, id = 'id', columns?: string): Source => ({
  table,
  objects: (rows) => `select workspace_id, '${kind}', null::uuid, ${id}::text from ${rows}`,
  ...(columns !== undefined && { columns }),
})

const partOf = (table: string, whole: string, key: string, kind: string, id: string, columns?: string): Source => ({
  table,
  objects: (rows) =>
    `select w.workspace_id, '${kind}', null::uuid, ${id}::text from ${rows} join ${whole} w on w.id = c.${key}`,
  ...(columns !== undefined && { columns }),
})

const PORT_CHANGED = `type in ('sandbox.port_opened', 'sandbox.port_closed')`

const SOURCES: readonly Source[] = [
  // The API hides trial restores of backups. A database has the status of its VM, and a volume lists the sandboxes that
  // use it, so both change with a sandbox.
  {
    table: 'sandboxes',
    canTellLater: true,
    objects: (rows) => `select workspace_id, 'sandbox', null::uuid, id::text from ${rows}
        where managed_by is distinct from 'proof'
      union all select workspace_id, 'database', null, managed_id::text from ${rows} where managed_by = 'database'
      union all select workspace_id, 'volume', null, v->>'name' from ${rows}, jsonb_array_elements(volumes) v
        where managed_by is distinct from 'proof'`,
  },
  // An open port is in no other table.
  {
    table: 'events',
    onlyNew: PORT_CHANGED,
    objects: (rows) => `select workspace_id, 'sandbox', null::uuid, object_id::text from ${rows} where ${PORT_CHANGED}`,
  },
  partOf('sandbox_ports', 'sandboxes', 'sandbox_id', 'sandbox', 'w.id'),
  {
    table: 'preview_links',
    objects: (rows) => `select workspace_id, case when app_id is null then 'sandbox' else 'app' end, null::uuid,
      coalesce(app_id, sandbox_id)::text from ${rows}`,
  },
  {
    table: 'snapshots',
    objects: (rows) => `select workspace_id, case origin when 'backup' then 'backup' else 'snapshot' end, null::uuid,
      id::text from ${rows} where origin <> 'fork'`,
  },
  plain('templates', 'template', 'name'),
  plain('template_builds', 'build'),
  {
    table: 'volumes',
    objects: (rows) => `select workspace_id, case kind when 'volume' then 'volume' else 'volume_snapshot' end,
      null::uuid, case kind when 'volume' then name else id::text end from ${rows}`,
  },
  plain(
    'databases',
    'database',
    'id',
    'workspace_id, id, label, size, status, idle_timeout_seconds, always_on, disk_mb',
  ),
  partOf('database_backups', 'databases', 'database_id', 'backup', 'c.id', 'id, database_id, verified, verify_error'),
  plain('apps', 'app'),
  partOf('app_deployments', 'apps', 'app_id', 'deployment', 'c.id'),
  partOf('app_domains', 'apps', 'app_id', 'domain', 'c.domain'),
  partOf('app_certificates', 'apps', 'app_id', 'domain', 'c.domain'),
  // Its deliveries change the other columns of a webhook.
  plain(
    'webhooks',
    'webhook',
    'id',
    `workspace_id, id, url, events, objects, description, enabled, disabled_reason, previous_until,
     failing_since is null`,
  ),
  partOf('webhook_deliveries', 'webhooks', 'webhook_id', 'webhook_delivery', 'c.id'),
  // Each use of a key changes the time of its last use.
  {
    table: 'api_keys',
    columns: 'workspace_id, prefix, created_by, name, revoked_at, expires_at',
    objects: (rows) => `select workspace_id, 'key', created_by, prefix from ${rows}`,
  },
  {
    table: 'ssh_keys',
    columns: 'id, user_id, name',
    objects: (rows) => `select null::uuid, 'ssh_key', user_id, id::text from ${rows}`,
  },
  {
    table: 'member',
    objects: (rows) => `select "organizationId", 'member', null::uuid, "userId"::text from ${rows}`,
  },
  plain('invitations', 'invitation'),
  {
    table: 'organization',
    columns: 'id, name, slug, suspended_at',
    objects: (rows) => `select id, 'workspace', null::uuid, id::text from ${rows}`,
  },
  plain(
    'workspace_accounts',
    'workspace',
    'workspace_id',
    'workspace_id, plan, plan_source, subscription_status, exhausted_until',
  ),
]

/** Tells every control process which objects a statement has changed (docs/adr/0040-changes.md). */
const tell = (
  objects: string,
) => `perform pg_notify('changes', json_build_array(workspace, kind, owner, json_agg(id))::text)
  from (
    select *, (row_number() over (partition by workspace, kind, owner order by id) - 1) / ${MAX_IDS} as part
    from (${objects}) as found (workspace, kind, owner, id) group by workspace, kind, owner, id
  ) as parts group by workspace, kind, owner, part;`

/** Cascading deletions run a statement for each row of the other table, most of which change none of this table. */
const define = (
  name: string,
  objects: string,
  condition = 'true',
) => `create function ${name}() returns trigger language plpgsql as $$
begin
  if exists (select from changed where ${condition}) then ${tell(objects)} end if;
  return null;
end $$`

const TELLS_LATER = `current_setting('offshoot.tells_later', true) is not distinct from 'on'`

function statementsOf({ table, onlyNew, columns, canTellLater, objects }: Source): string[] {
  const trigger = (when: string, tables: string, run: string) =>
    `create trigger tell_${when} after ${when} on ${table} referencing ${tables}
     for each statement execute function ${run}()`
  const inserted = [
    define(`tell_${table}`, objects('changed c'), onlyNew),
    trigger('insert', 'new table as changed', `tell_${table}`),
  ]
  if (onlyNew !== undefined) return inserted
  const deleted = trigger('delete', 'old table as changed', `tell_${table}`)
  if (canTellLater === true) {
    return [
      ...inserted,
      deleted,
      define(`tell_updated_${table}`, objects('changed c'), `not (${TELLS_LATER})`),
      trigger('update', 'new table as changed', `tell_updated_${table}`),
      `create function tell_changed_${table}(ids uuid[]) returns boolean language plpgsql as $$
begin
  ${tell(objects(`(select * from ${table} t where t.id = any(ids)) c`))}
  return true;
end $$`,
    ]
  }
  if (columns === undefined) return [...inserted, deleted, trigger('update', 'new table as changed', `tell_${table}`)]
  const different = `(select ${columns} from changed except select ${columns} from before) c`
  return [
    ...inserted,
    deleted,
    define(`tell_updated_${table}`, objects(different)),
    trigger('update', 'old table as before new table as changed', `tell_updated_${table}`),
  ]
}

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of SOURCES.flatMap(statementsOf)) await sql.raw(statement).execute(db)
}
