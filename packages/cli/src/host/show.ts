import type { HostDetail } from '@offshoot/contract/host'
import type { Cli } from '../frame/cli.ts'
import { type Action, type Common, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { labelsOf, memoryOf, share, STYLES } from './ls.ts'

export const run: Action = async (cli, line) => {
  const path = { id: operand(line, 0) }
  showHost(cli, line.options, await operatorApi(cli).request('GET /v1/admin/hosts/{id}', { path, signal: cli.signal }))
}

export function showHost({ out }: Cli, { json, quiet }: Common, host: HostDetail): void {
  if (json) return out.json(host)
  if (quiet) return out.line(host.id)
  const { capacity, used, drain } = host
  out.pairs([
    ['id', host.id],
    ['state', out.style(STYLES[host.state], host.state)],
    ['cordoned', host.cordoned_at],
    ['drain begun', drain?.begun_at ?? null],
    ['drain ended', drain?.ended_at ?? null],
    ['moves', drain === null ? null : `${drain.moved} moved, ${drain.left} left, ${drain.failed} failed`],
    ['zone', host.zone],
    ['labels', labelsOf(host) || null],
    ['lease', leaseOf(host)],
    ['last heard', host.last_heard_at],
    ['address', host.url],
    ['version', host.version === null ? null : `${host.version}, QEMU ${host.qemu_version}`],
    ['runs on', host.accelerator],
    ['isolation', host.isolation],
    ['cpus', capacity.cpus === null ? null : String(capacity.cpus)],
    ['memory', memoryOf(host) || null],
    ['disk', share(used.disk_bytes, capacity.disk_bytes) || null],
    ['sandboxes', String(host.sandboxes)],
    ['instances', String(host.instances)],
    ['databases', String(host.databases)],
    ['joined', host.created_at],
  ])
  if (drain !== null && drain.staying > 0) showStaying(out, drain)
}

/** `null`: its databases need none. */
function leaseOf({ lease }: HostDetail): string | null {
  if (lease === null) return null
  const { generation, renewed_at: renewedAt, ended_at: endedAt } = lease
  return endedAt === null ? `${generation}, renewed ${renewedAt}` : `${generation}, ended ${endedAt}`
}

function showStaying(out: Cli['out'], { staying, stays }: NonNullable<HostDetail['drain']>): void {
  out.line('')
  const rows = stays.map(({ kind, id, workspace_id: workspace, reason }) => [kind, id, workspace, reason])
  out.table(['STAYS', 'ID', 'WORKSPACE', 'REASON'], rows, '')
  if (staying > stays.length) out.note(`and ${staying - stays.length} more`)
}
