import type { RouteAnswer } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { type Host, hostQuery } from './host-queries.ts'
import { useOperator } from './operator-context.ts'
import { objectColumns } from './object-columns.tsx'

type Drain = NonNullable<RouteAnswer<'GET /v1/admin/hosts/{id}'>['drain']>
type Staying = Drain['stays'][number]

const COLUMNS: readonly Column<Staying>[] = [
  ...objectColumns('What stays'),
  { title: 'Reason', cell: ({ reason }) => reason },
]

/** Moves the sandboxes, snapshots and templates of a host to other hosts, and shows how far that is and what stays. */
export function HostDrain({ host: { id, state } }: { readonly host: Host }) {
  const api = useOperator()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const query = useQuery(hostQuery(api, id))
  const drain = () =>
    confirm({
      title: 'Drain this host?',
      description:
        'Its sandboxes and databases hibernate and move to other hosts, where they wake again. Its snapshots and built templates move, too, and its apps are built there. Nothing new starts here. Volumes stay.',
      action: 'Drain',
      run: async () => {
        await api.request('POST /v1/admin/hosts/{id}/drain', { path: { id } })
        await queries.invalidateQueries({ queryKey: ['operator', 'hosts'] })
      },
    })
  const button = (
    <Button disabled={state === 'draining'} onClick={drain}>
      Drain
    </Button>
  )
  return (
    <Section title="Drain" actions={button}>
      <QueryView query={query}>{({ drain: found }) => <Progress drain={found} />}</QueryView>
    </Section>
  )
}

function Progress({ drain }: { readonly drain: Drain | null }) {
  if (drain === null) return <p className="text-muted">Nobody drains this host.</p>
  return (
    <>
      <Facts
        facts={{
          Begun: <Time at={drain.begun_at} />,
          Ended: drain.ended_at === null ? 'not yet' : <Time at={drain.ended_at} />,
          Moved: drain.moved,
          Left: drain.left === 0 ? 0 : `${drain.left} (${drain.moving} moving)`,
          Failed: drain.failed,
        }}
      />
      {drain.staying === 0 ? (
        <p className="mt-4 text-muted">Nothing else stays here.</p>
      ) : (
        <div className="mt-4">
          <Table label="What stays" columns={COLUMNS} rows={drain.stays} idOf={({ kind, id }) => `${kind} ${id}`} />
          {drain.staying > drain.stays.length && (
            <p className="mt-2 text-muted">{`and ${drain.staying - drain.stays.length} more`}</p>
          )}
        </div>
      )}
    </>
  )
}
