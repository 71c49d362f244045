import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Server } from 'lucide-react'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { RefreshButton } from '../../ui/refresh-button.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes } from '../../ui/time.tsx'
import { type Host, hostsQuery } from './host-queries.ts'
import { JoinButton } from './join-button.tsx'
import { Labels } from './labels.tsx'
import { useOperator } from './operator-context.ts'

const STATES: Record<Host['state'], Tone> = {
  joining: 'accent',
  ready: 'good',
  cordoned: 'warn',
  draining: 'warn',
  lost: 'bad',
  foreign: 'warn',
}
const MIB = 1024 ** 2

export function HostState({ state }: { readonly state: Host['state'] }) {
  return <Badge tone={STATES[state]}>{state}</Badge>
}

/** `null`: it is not known. */
export const memoryOf = ({ used, capacity }: Host) =>
  used.memory_mib === null || capacity.memory_mib === null
    ? null
    : `${bytes(used.memory_mib * MIB)} of ${bytes(capacity.memory_mib * MIB)}`

/** `null`: it is not known. */
export const diskOf = ({ used, capacity }: Host) =>
  used.disk_bytes === null || capacity.disk_bytes === null
    ? null
    : `${bytes(used.disk_bytes)} of ${bytes(capacity.disk_bytes)}`

const COLUMNS: readonly Column<Host>[] = [
  {
    title: 'Host',
    cell: ({ id, url, zone, labels }) => (
      <span className="flex min-w-0 flex-col">
        <Link to="/hosts/host/$id" params={{ id }} className="font-mono text-xs break-all">
          {id}
        </Link>
        <span className="plaintext text-xs text-muted">{url}</span>
        <Labels labels={labels} zone={zone} />
      </span>
    ),
  },
  { title: 'State', cell: ({ state }) => <HostState state={state} /> },
  { title: 'Version', wide: true, cell: ({ version }) => version },
  { title: 'Accelerator', wide: true, cell: ({ accelerator }) => accelerator },
  { title: 'CPUs', wide: true, right: true, cell: ({ capacity }) => capacity.cpus },
  {
    title: 'Memory',
    wide: true,
    right: true,
    cell: (host) => <span className="whitespace-nowrap">{memoryOf(host)}</span>,
  },
  { title: 'Disk', wide: true, right: true, cell: (host) => <span className="whitespace-nowrap">{diskOf(host)}</span> },
  {
    title: 'Runs',
    right: true,
    cell: ({ sandboxes, instances, databases }) => (
      <span className="whitespace-nowrap">{`${sandboxes} + ${instances} + ${databases}`}</span>
    ),
  },
]

/** All machines of the cluster. */
export function HostsTab() {
  const query = useQuery(hostsQuery(useOperator()))
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">The last column counts sandboxes, instances of apps and databases.</p>
        <span className="flex gap-2">
          <JoinButton />
          <RefreshButton busy={query.isFetching} refetch={query.refetch} />
        </span>
      </div>
      <QueryView query={query}>
        {(hosts) =>
          hosts.length === 0 ? (
            <Panel icon={<Server size={28} aria-hidden />} title="No hosts">
              <p className="text-muted">No agent has answered this control yet.</p>
            </Panel>
          ) : (
            <Table label="Hosts" columns={COLUMNS} rows={hosts} idOf={({ id }) => id} />
          )
        }
      </QueryView>
    </>
  )
}
