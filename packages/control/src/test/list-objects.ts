import { randomBytes, randomUUID } from 'node:crypto'
import type { Harness, Tenant } from './harness.ts'

/** One list of the API, with objects in it. */
export interface ListCase {
  readonly path: string
  /** The field that names an object, and the objects in the order of the list. */
  readonly by: string
  readonly names: readonly string[]
  /** Parameters without which the list contains more than these objects. */
  readonly only?: string
  readonly credential?: 'jwt' | 'operator'
  /** The cursor of another caller is only a position here, which finds nothing foreign. */
  readonly takesCursorsOfOthers?: true
  /** A query, and what it finds. */
  readonly filters: Readonly<Record<string, readonly string[]>>
  /** Adds an object while a caller pages. */
  readonly add?: () => Promise<unknown>
}

/** A host that control does not know, so that no reconciliation touches its objects. */
const HOST = 'host-of-lists'
const BORN = Date.UTC(2026, 0, 1)
/** Two objects have the same time, so that their ids decide. */
const SECONDS = { first: 1, second: 2, third: 2 } as const
type Name = keyof typeof SECONDS
export const NAMES = Object.keys(SECONDS) as Name[]

export const at = (seconds: number) => new Date(BORN + seconds * 1000).toISOString()

/** Filters of every list with `created_at`, newest first. */
export const created = ([newest = '', older = '', oldest = '']: readonly string[]) => ({
  [`created_after=${at(1)}`]: [newest, older],
  [`created_before=${at(2)}`]: [oldest],
  [`created_after=${at(0)}&created_before=${at(2)}`]: [oldest],
  [`created_after=${at(2).replace('Z', '+00:00')}`]: [],
})

type Values = Readonly<Record<string, unknown>>

/** Inserts rows, because few of these objects can be created through the API within a short test. */
export class Seed {
  readonly harness: Harness
  readonly tenant: Tenant
  /** The sealed variables of every app. */
  readonly env: Buffer

  constructor(harness: Harness, tenant: Tenant, env: Buffer) {
    this.env = env
    this.harness = harness
    this.tenant = tenant
  }

  async row(table: string, values: Values): Promise<string> {
    const columns = Object.keys(values)
    await this.harness.pool.query(
      `insert into "${table}" (${columns.map((column) => `"${column}"`).join(', ')})
       values (${columns.map((_column, index) => `$${index + 1}`).join(', ')})`,
      Object.values(values),
    )
    return String(values['id'])
  }

  /** Inserts three rows. @returns their ids, newest first */
  async three(table: string, valuesOf: (name: Name) => Values = () => ({})): Promise<string[]> {
    const made = NAMES.map((name) => ({ id: randomUUID(), created_at: at(SECONDS[name]), ...valuesOf(name) }))
    for (const values of made) await this.row(table, values)
    const newestFirst = made.toSorted((a, b) => b.created_at.localeCompare(a.created_at) || (a.id < b.id ? 1 : -1))
    return newestFirst.map(({ id }) => id)
  }

  get owned() {
    return { workspace_id: this.tenant.workspaceId }
  }

  get placed() {
    return { ...this.owned, agent_id: HOST, creator: 0 }
  }

  link(values: Values) {
    return { ...this.owned, token_hash: randomBytes(32), expires_at: '2100-01-01T00:00:00Z', ...values }
  }

  sandbox(values: Values) {
    const size = { cpu: 1, memory_mb: 128, persistent: true, ttl_seconds: 0, idle_timeout_seconds: 0 }
    return { ...this.placed, template: 'base', status: 'paused', ...size, ...values }
  }

  snapshot(values: Values) {
    const state = { origin: 'user', status: 'ready', size_bytes: 1, cpu: 1, memory_mb: 128 }
    return { ...this.placed, sandbox_id: randomUUID(), template: 'base', ...state, ...values }
  }
}

type ListsOf = (seed: Seed) => Promise<readonly ListCase[]>

/** Three objects in each list of a workspace. @param others those of other files */
export async function insertObjects(seed: Seed, others: readonly ListsOf[]): Promise<readonly ListCase[]> {
  await seed.harness.pool.query(
    `insert into agents (id, url, info, retired_at) values ($1, 'http://127.0.0.1:1', '{}', now()) on conflict do nothing`,
    [HOST],
  )
  const kinds = [sandboxLists, databaseLists, templateLists, ...others]
  const lists: ListCase[] = []
  for (const listsOf of kinds) lists.push(...(await listsOf(seed)))
  return lists
}

async function sandboxLists(seed: Seed): Promise<ListCase[]> {
  const ids = await seed.three('sandboxes', (name) =>
    seed.sandbox(name === 'first' ? { status: 'hibernated', metadata: { of: 'first' }, template: 'own' } : {}),
  )
  const [newest = '', older = '', oldest = ''] = ids
  const snapshots = await seed.three('snapshots', (name) =>
    seed.snapshot(name === 'first' ? { sandbox_id: oldest, template: 'own', name: 'mine' } : {}),
  )
  const [last = ''] = snapshots.slice(-1)
  const events = [3, 2, 1].map((after) => new Date(Date.now() + after * 3_600_000).toISOString())
  for (const ts of events) {
    const event = { object_id: ts === events[0] ? newest : oldest, type: 'sandbox.paused', code: 'x', message: 'x' }
    await seed.row('events', { ...seed.owned, agent_id: HOST, ts, ...event, metadata: {} })
  }
  const links = await seed.three('preview_links', () => seed.link({ sandbox_id: oldest, port: 80 }))
  const audit = await seed.three('audit_log', (name) => ({
    ...seed.owned,
    actor_type: 'service',
    action: 'org.updated',
    target: name,
    target_kind: 'org',
  }))
  return [
    {
      path: '/v1/sandboxes',
      by: 'id',
      names: ids,
      filters: {
        'status=hibernated': [oldest],
        'template=own': [oldest],
        'template=%00': [],
        'metadata.of=first': [oldest],
        'metadata.of=%00': [],
        'status=paused': [newest, older],
        'status=paused,hibernated': ids,
        'order=desc': ids,
        'order=asc': ids.toReversed(),
        'order=asc&status=paused': [older, newest],
        [`order=asc&created_after=${at(1)}`]: [older, newest],
        ...created(ids),
      },
      add: () => seed.three('sandboxes', () => seed.sandbox({ created_at: at(9) })),
    },
    { path: `/v1/sandboxes/${oldest}/ports/80/links`, by: 'id', names: links, filters: created(links) },
    {
      path: '/v1/snapshots',
      by: 'id',
      names: snapshots,
      filters: {
        [`sandbox_id=${oldest}`]: [last],
        'sandbox_id=x': [],
        'name=mine': [last],
        'name=%00': [],
        'template=own': [last],
        ...created(snapshots),
      },
    },
    {
      path: '/v1/events',
      by: 'ts',
      names: events,
      only: 'type=sandbox.paused',
      filters: { [`sandbox_id=${newest}`]: events.slice(0, 1), [`to=${events[1]}`]: events.slice(2) },
    },
    {
      path: '/v1/audit',
      by: 'id',
      names: audit,
      only: 'actor_type=service',
      filters: {
        'action=org.created': [],
        'target_kind=org': audit,
        'target_kind=app': [],
        'target=first': audit.slice(2),
        'actor=%00': [],
        'request_id=x': [],
        [`from=${at(2)}`]: audit.slice(0, 2),
        [`to=${at(2)}`]: audit.slice(2),
        ...created(audit),
      },
    },
  ]
}

async function databaseLists(seed: Seed): Promise<ListCase[]> {
  const fields = { secrets: '', broker_token_sha256: '', idle_timeout_seconds: 300 }
  const ids = await seed.three('databases', (name) => ({
    ...seed.owned,
    ...fields,
    label: name,
    size: name === 'first' ? '4g' : '1g',
    status: name === 'second' ? 'provisioning' : 'ready',
  }))
  const oldest = ids[2] ?? ''
  // `proof` keeps the sandbox out of the list of sandboxes.
  await seed.row('sandboxes', seed.sandbox({ id: oldest, managed_by: 'proof' }))
  const { rows } = await seed.harness.pool.query<{ id: string; label: string }>(
    'select id, label from databases where id = any($1)',
    [ids],
  )
  const idOf = (label: string) => rows.filter((row) => row.label === label).map(({ id }) => id)
  const backups = await seed.three('snapshots', () => seed.snapshot({ origin: 'backup' }))
  for (const id of backups) {
    const verified = id === backups[0] ? 'ok' : 'failed'
    await seed.row('database_backups', { id, database_id: oldest, origin: 'daily', secrets: '', verified })
  }
  return [
    {
      path: '/v1/databases',
      by: 'id',
      names: ids,
      filters: {
        'label=second': idOf('second'),
        'size=4g': idOf('first'),
        'status=provisioning': idOf('second'),
        'status=hibernated': idOf('first'),
        'status=failed': idOf('third'),
        'status=running': [],
        ...created(ids),
      },
    },
    {
      path: `/v1/databases/${oldest}/backups`,
      by: 'id',
      names: backups,
      filters: {
        'verified=ok': backups.slice(0, 1),
        'origin=daily&verified=failed': backups.slice(1),
        'origin=request': [],
        ...created(backups),
      },
    },
  ]
}

async function templateLists(seed: Seed): Promise<ListCase[]> {
  const size = { rootfs_path: 'x', size_bytes: 1, cpu: 1, memory_mb: 128, meta: {} }
  for (const name of NAMES) await seed.row('templates', { ...seed.owned, name, ...size, created_at: at(SECONDS[name]) })
  const ended = { stage: 'done', size_mb: 16, bytes: 1, ended_at: at(5) }
  const builds = await seed.three('template_builds', (name) => ({
    ...seed.placed,
    ...ended,
    name: 'own',
    status: name === 'first' ? 'failed' : 'done',
  }))
  const filters = { 'status=failed': builds.slice(2), 'status=queued': [], ...created(builds) }
  return [
    {
      path: '/v1/templates',
      only: 'is_global=false',
      by: 'name',
      names: ['first', 'second', 'third'],
      filters: {
        'name=second': ['second'],
        'name=base': [],
        [`created_after=${at(1)}`]: ['second', 'third'],
        [`created_before=${at(2)}`]: ['first'],
      },
    },
    { path: '/v1/templates/own/builds', by: 'id', names: builds, filters },
    {
      path: '/v1/templates/builds',
      by: 'id',
      names: builds,
      filters: { ...filters, 'name=own': builds, 'name=other': [] },
    },
  ]
}
