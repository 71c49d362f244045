import { agentInfo } from '@offshoot/contract/agent-api'
import { type Host, host, hostsQuery } from '@offshoot/contract/host'
import type { HostLabels } from '@offshoot/contract/host-label'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { KnownAgent } from '../../../fleet/agent-directory.ts'
import { IS_JOINING } from '../../../fleet/host-statements.ts'
import { LEASE_HAS_ENDED } from '../../../fleet/lease-statements.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { statement } from '../../../platform/db/statement.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, hasTags, type ListOrder, listPage } from '../../../platform/http/page-of.ts'

export interface HostRow {
  readonly id: string
  readonly url: string
  /** The answer of the agent that changed last; `null`: the host is joining. */
  readonly info: unknown
  readonly sandboxes: number
  readonly instances: number
  readonly databases: number
  readonly cordoned_at: Date | null
  readonly drain_begun_at: Date | null
  readonly drain_ended_at: Date | null
  readonly labels: HostLabels
  readonly zone: string | null
  readonly lease_generation: number | null
  readonly lease_seconds: number | null
  readonly lease_renewed_at: Date | null
  readonly lease_ended_at: Date | null
  readonly lost_at: Date | null
  readonly seen_at: Date | null
  readonly created_at: Date
}

const ORDER: ListOrder<HostRow> = {
  name: 'hosts',
  direction: 'desc',
  keys: [
    { sql: 'hosts.created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'hosts.id', type: 'text', of: (row) => row.id },
  ],
}

/** Hosts whose agent has answered, and those that are joining. */
const HOSTS_WITH_COUNTS = `(
    select id, url, info, cordoned_at, drain_begun_at, drain_ended_at, labels, zone, lost_at, seen_at, created_at
    from agents where retired_at is null
    union all
    select id::text, url, null, null, null, null, labels, zone, null, null, created_at
    from joined_hosts where ${IS_JOINING}
  ) hosts cross join lateral (
    select count(*) filter (where managed_by is null)::int as sandboxes,
           count(*) filter (where managed_by = 'app')::int as instances,
           count(*) filter (where managed_by = 'database')::int as databases
    from sandboxes where agent_id = hosts.id and status <> 'failed'
  ) counts left join lateral (
    select generation as lease_generation, seconds as lease_seconds, renewed_at as lease_renewed_at,
           case when ${LEASE_HAS_ENDED} then ended_at end as lease_ended_at
    from host_leases l where l.agent_id = hosts.id
  ) lease on true`
const SELECT_HOSTS = `select hosts.*, counts.*, lease.* from ${HOSTS_WITH_COUNTS}`

/** No row: the host is unknown or gone. */
export const hostById = statement<HostRow, [id: string]>('host-by-id', `${SELECT_HOSTS} where hosts.id = $1`)

/** `GET /v1/admin/hosts`: the hosts of the cluster, those that joined last first. */
export function getHosts(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/admin/hosts', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'List the hosts with their state, capacity and use, newest first',
        tag: 'Operators',
        query: hostsQuery,
        status: 200,
        answer: z.array(host),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<Host[]> => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(hostsQuery, request.query)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: '',
        select: SELECT_HOSTS,
        where: [
          ...(query.label ?? []).flatMap((label) => hasTags('hosts.labels', label)),
          ...equals('hosts.zone', query.zone),
          ...createdBetween('hosts.created_at', query),
        ],
        query: { ...query, limit },
      })
      return rows.map((row) => presentHost(row, control.fleet.byId(row.id)))
    },
  })
}

/** @param agent `undefined` if the host has not answered this process */
export function presentHost(row: HostRow, agent: KnownAgent | undefined): Host {
  const info = row.info === null ? null : (agent?.info ?? agentInfo.parse(row.info))
  const disk = info?.disk ?? null
  return {
    id: row.id,
    state: stateOf(row, agent),
    url: row.url,
    version: info?.version ?? null,
    qemu_version: info?.qemu_version ?? null,
    accelerator: info?.accelerator ?? null,
    accelerator_reason: info?.accelerator_reason ?? null,
    isolation: info?.isolation ?? null,
    cpu_limits: info?.cpu_limits ?? null,
    network: info?.network ?? null,
    capacity: {
      cpus: info?.cpus ?? null,
      memory_mib: info?.memory_mib.commit_limit ?? null,
      disk_bytes: disk?.total_bytes ?? null,
    },
    used: { memory_mib: info?.memory_mib.committed ?? null, disk_bytes: disk && disk.total_bytes - disk.free_bytes },
    disk_state: disk?.state ?? null,
    sandboxes: row.sandboxes,
    instances: row.instances,
    databases: row.databases,
    cordoned_at: row.cordoned_at?.toISOString() ?? null,
    labels: row.labels,
    zone: row.zone,
    lease: leaseOf(row),
    last_heard_at: row.seen_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}

function leaseOf(row: HostRow): Host['lease'] {
  const { lease_generation: generation, lease_seconds: seconds, lease_renewed_at: renewedAt } = row
  if (generation === null || seconds === null || renewedAt === null) return null
  const endedAt = row.lease_ended_at?.toISOString() ?? null
  return { generation, seconds, renewed_at: renewedAt.toISOString(), ended_at: endedAt }
}

function stateOf(row: HostRow, agent?: KnownAgent): Host['state'] {
  const { cordoned_at: cordonedAt, drain_begun_at: begunAt, drain_ended_at: endedAt, lost_at: lostAt } = row
  if (row.info === null) return 'joining'
  const isHeard = agent?.isReachable === true
  if (lostAt !== null && !isHeard) return 'lost'
  if (isHeard && agent.isForeign) return 'foreign'
  if (begunAt !== null && endedAt === null) return 'draining'
  return cordonedAt === null ? 'ready' : 'cordoned'
}
