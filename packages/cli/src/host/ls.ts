import type { Host } from '@offshoot/contract/host'
import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { bytes, type Style } from '../frame/output.ts'

export const MIB = 1024 ** 2
export const STYLES: Readonly<Record<Host['state'], Style>> = {
  ready: 'green',
  cordoned: 'yellow',
  lost: 'red',
  foreign: 'yellow',
}

export const run: Action = async (cli, { options }) => {
  const api = operatorApi(cli)
  const hosts = await api.list('GET /v1/admin/hosts', { query: { limit: 1000 }, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, hosts, {
    id: ({ id }) => id,
    headings: ['HOST', 'STATE', 'VERSION', 'RUNS ON', 'CPUS', 'MEMORY', 'DISK', 'SANDBOXES', 'INSTANCES', 'DATABASES'],
    row: ({ capacity, used, ...host }) => [
      host.id,
      out.style(STYLES[host.state], host.state),
      host.version,
      host.accelerator,
      String(capacity.cpus),
      share(used.memory_mib * MIB, capacity.memory_mib * MIB),
      share(used.disk_bytes, capacity.disk_bytes),
      String(host.sandboxes),
      String(host.instances),
      String(host.databases),
    ],
    empty: 'There are no hosts.',
  })
}

/** `1 GiB of 2 GiB`; empty if one is unknown. */
export function share(used: number | null, capacity: number | null): string {
  return used === null || capacity === null ? '' : `${bytes(used)} of ${bytes(capacity)}`
}
