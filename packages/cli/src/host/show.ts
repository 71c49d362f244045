import type { Host } from '@offshoot/contract/host'
import type { Cli } from '../frame/cli.ts'
import { type Action, type Common, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { labelsOf, MIB, share, STYLES } from './ls.ts'

export const run: Action = async (cli, line) => {
  const path = { id: operand(line, 0) }
  showHost(cli, line.options, await operatorApi(cli).request('GET /v1/admin/hosts/{id}', { path, signal: cli.signal }))
}

export function showHost({ out }: Cli, { json, quiet }: Common, host: Host): void {
  if (json) return out.json(host)
  if (quiet) return out.line(host.id)
  const { capacity, used } = host
  out.pairs([
    ['id', host.id],
    ['state', out.style(STYLES[host.state], host.state)],
    ['cordoned', host.cordoned_at],
    ['zone', host.zone],
    ['labels', labelsOf(host) || null],
    ['last heard', host.last_heard_at],
    ['address', host.url],
    ['version', `${host.version}, QEMU ${host.qemu_version}`],
    ['runs on', host.accelerator],
    ['isolation', host.isolation],
    ['cpus', String(capacity.cpus)],
    ['memory', share(used.memory_mib * MIB, capacity.memory_mib * MIB)],
    ['disk', share(used.disk_bytes, capacity.disk_bytes)],
    ['sandboxes', String(host.sandboxes)],
    ['instances', String(host.instances)],
    ['databases', String(host.databases)],
    ['joined', host.created_at],
  ])
}
