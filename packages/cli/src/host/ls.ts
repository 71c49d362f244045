import type { Host } from '@offshoot/contract/host'
import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { bytes, type Style } from '../frame/output.ts'

const MIB = 1024 ** 2
export const STYLES: Readonly<Record<Host['state'], Style>> = {
  joining: 'cyan',
  ready: 'green',
  cordoned: 'yellow',
  draining: 'yellow',
  lost: 'red',
  foreign: 'yellow',
}

interface Options {
  readonly label?: Readonly<Record<string, string>>
  readonly zone?: string
}

const HEADINGS = 'HOST,STATE,VERSION,RUNS ON,CPUS,MEMORY,DISK,SANDBOXES,INSTANCES,DATABASES,ZONE,LABELS'.split(',')

export const run: Action<Options> = async (cli, { options }) => {
  const { label = {}, zone } = options
  const api = operatorApi(cli)
  const wanted = Object.entries(label).map(([key, value]) => `${key}:${value}`)
  const query = { limit: 1000, ...(wanted.length > 0 && { label: wanted }), ...(zone !== undefined && { zone }) }
  const hosts = await api.list('GET /v1/admin/hosts', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, hosts, {
    id: ({ id }) => id,
    headings: HEADINGS,
    row: ({ capacity, used, ...host }) => [
      host.id,
      out.style(STYLES[host.state], host.state),
      host.version ?? '',
      host.accelerator ?? '',
      String(capacity.cpus ?? ''),
      memoryOf({ capacity, used }),
      share(used.disk_bytes, capacity.disk_bytes),
      String(host.sandboxes),
      String(host.instances),
      String(host.databases),
      host.zone ?? '',
      labelsOf(host),
    ],
    empty: wanted.length > 0 || zone !== undefined ? 'No host fits.' : 'There are no hosts.',
  })
}

/** `disk=nvme gpu=none`. */
export function labelsOf({ labels }: Pick<Host, 'labels'>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
}

/** `1 GiB of 2 GiB`; empty if it is unknown. */
export function memoryOf({ used, capacity }: Pick<Host, 'used' | 'capacity'>): string {
  if (used.memory_mib === null || capacity.memory_mib === null) return ''
  return share(used.memory_mib * MIB, capacity.memory_mib * MIB)
}

/** `1 GiB of 2 GiB`; empty if one is unknown. */
export function share(used: number | null, capacity: number | null): string {
  return used === null || capacity === null ? '' : `${bytes(used)} of ${bytes(capacity)}`
}
