import type { RouteAnswer } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { HostAbout } from './host-about.tsx'
import { HostDrain } from './host-drain.tsx'
import { diskQuery, type Host, hostsQuery, metricsQuery, quarantineQuery, reconcileQuery } from './host-queries.ts'
import { useOperator } from './operator-context.ts'
import { type VmFigures, vmsOf } from './samples.ts'
import { objectColumns } from './object-columns.tsx'
import { Ghost } from 'lucide-react'

type Quarantined = RouteAnswer<'GET /v1/hosts/{id}/quarantine'>[number]
type Waiting = RouteAnswer<'GET /v1/admin/hosts/{id}/reconcile'>['waiting'][number]

const route = getRouteApi('/member/hosts/host/$id')

/** One machine. */
export function HostTab() {
  const { id } = route.useParams()
  const query = useQuery(hostsQuery(useOperator()))
  return (
    <>
      <Link to="/hosts">All hosts</Link>
      <QueryView query={query}>
        {(hosts) => {
          const host = hosts.find((each) => each.id === id)
          if (host === undefined)
            return <Panel icon={<Ghost size={28} aria-hidden />} title="No such host" role="alert" />
          return (
            <>
              <HostAbout host={host} />
              {host.state !== 'joining' && <OnHost host={host} />}
            </>
          )
        }}
      </QueryView>
    </>
  )
}

/** What only the agent of a host can say. */
function OnHost({ host }: { readonly host: Host }) {
  return (
    <>
      <HostDrain host={host} />
      <Vms host={host} />
      <Disk id={host.id} />
      <Quarantine id={host.id} />
      <Reconciliation id={host.id} />
    </>
  )
}

const size = (value: number | undefined) => (value === undefined ? 'not known' : bytes(value))

const VM_COLUMNS: readonly Column<VmFigures>[] = [
  { title: 'Sandbox', cell: ({ sandboxId }) => <span className="font-mono text-xs break-all">{sandboxId}</span> },
  {
    title: 'Workspace',
    wide: true,
    cell: ({ workspaceId }) => <span className="font-mono text-xs break-all">{workspaceId}</span>,
  },
  { title: 'CPU time', right: true, cell: ({ cpuSeconds }) => `${(cpuSeconds ?? 0).toFixed(1)} s` },
  { title: 'Memory', right: true, cell: ({ memoryBytes }) => size(memoryBytes) },
  { title: 'Disk', right: true, wide: true, cell: ({ diskBytes }) => size(diskBytes) },
]

function Vms({ host }: { readonly host: Host }) {
  const query = useQuery(metricsQuery(useOperator(), host))
  return (
    <Section title="What runs here">
      <QueryView query={query}>
        {(text) => {
          const vms = vmsOf(text, host.id)
          return vms.length === 0 ? (
            <p className="text-muted">No VM.</p>
          ) : (
            <Table label="VMs" columns={VM_COLUMNS} rows={vms} idOf={({ sandboxId }) => sandboxId} />
          )
        }}
      </QueryView>
    </Section>
  )
}

function Disk({ id }: { readonly id: string }) {
  const query = useQuery(diskQuery(useOperator(), id))
  return (
    <Section title="Disk">
      <QueryView query={query}>
        {({ agent_id: _agent, ...sizes }) => (
          <Facts
            facts={Object.fromEntries(
              Object.entries(sizes).map(([name, value]) => [
                name.replace('_bytes', '').replaceAll('_', ' '),
                bytes(value),
              ]),
            )}
          />
        )}
      </QueryView>
    </Section>
  )
}

function Quarantine({ id }: { readonly id: string }) {
  const api = useOperator()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const tell = useTell()
  const query = useQuery(quarantineQuery(api, id))
  const refresh = () => queries.invalidateQueries({ queryKey: ['operator'] })
  const restore = async (entry: string) => {
    await api.request('POST /v1/hosts/{id}/quarantine/{entry}/restore', { path: { id, entry } })
    await refresh()
  }
  const remove = ({ entry, kind, id: object }: Quarantined) =>
    confirm({
      title: `Delete this ${kind} for good?`,
      description: `The data of ${object} is lost. This cannot be undone.`,
      action: 'Delete',
      run: async () => {
        await api.request('DELETE /v1/hosts/{id}/quarantine/{entry}', { path: { id, entry } })
        await refresh()
      },
    })
  const columns: readonly Column<Quarantined>[] = [
    {
      title: 'Object',
      cell: ({ kind, id: object }) => (
        <span>
          {kind} <span className="font-mono text-xs break-all">{object}</span>
        </span>
      ),
    },
    { title: 'State', cell: ({ state }) => state },
    {
      title: 'Reason',
      wide: true,
      cell: ({ reason, path }) => (
        <span className="plaintext" title={path}>
          {reason}
        </span>
      ),
    },
    { title: 'Since', wide: true, cell: ({ since }) => <Time at={since} /> },
    {
      title: 'Actions',
      right: true,
      cell: (found) => (
        <span className="flex justify-end gap-2">
          <Button
            small
            aria-label={`Restore ${found.id}`}
            onClick={() => void tell.whether(restore(found.entry), 'Restored')}
          >
            Restore
          </Button>
          <Button small look="danger" aria-label={`Delete ${found.id}`} onClick={() => remove(found)}>
            Delete
          </Button>
        </span>
      ),
    },
  ]
  return (
    <Section title="Quarantine">
      <QueryView query={query}>
        {(entries) =>
          entries.length === 0 ? (
            <p className="text-muted">Empty: every object on this host has a record that can be read.</p>
          ) : (
            <Table label="Quarantine" columns={columns} rows={entries} idOf={({ entry }) => entry} />
          )
        }
      </QueryView>
    </Section>
  )
}

const WAITING_COLUMNS: readonly Column<Waiting>[] = [
  { title: 'Action', cell: ({ action }) => action },
  ...objectColumns('Object'),
  { title: 'Since', wide: true, cell: ({ since }) => <Time at={since} /> },
]

function Reconciliation({ id }: { readonly id: string }) {
  const api = useOperator()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const query = useQuery(reconcileQuery(api, id))
  const act = (count: number, isTakeOver: boolean) =>
    confirm({
      title: isTakeOver ? 'Take this host over?' : `Confirm ${count} removals?`,
      description: isTakeOver
        ? 'The host obeys another cluster. It will obey this one, which removes what it does not know.'
        : 'Control deletes these objects, or forgets them. This cannot be undone.',
      action: isTakeOver ? 'Take over' : 'Confirm',
      run: async () => {
        const body = { count, ...(isTakeOver && { take_over: true }) }
        await api.request('POST /v1/admin/hosts/{id}/reconcile', { path: { id }, body })
        await queries.invalidateQueries({ queryKey: ['operator'] })
      },
    })
  return (
    <Section title="Reconciliation">
      <QueryView query={query}>
        {({ cluster, count, waiting }) =>
          count === 0 && cluster !== 'other' ? (
            <p className="text-muted">The host and the database of control agree. Nothing waits for you.</p>
          ) : (
            <div className="flex flex-col gap-4">
              <div className="flex flex-wrap items-center justify-between gap-3">
                <p>
                  {cluster === 'other'
                    ? 'This host belongs to another cluster.'
                    : `${count} objects are removed only when you confirm it.`}
                </p>
                <Button look="danger" onClick={() => act(count, cluster === 'other')}>
                  {cluster === 'other' ? 'Take over' : 'Confirm'}
                </Button>
              </div>
              {waiting.length > 0 && (
                <Table
                  label="Waiting"
                  columns={WAITING_COLUMNS}
                  rows={waiting}
                  idOf={(each) => `${each.kind}${each.id}`}
                />
              )}
            </div>
          )
        }
      </QueryView>
    </Section>
  )
}
