import type { DatabaseStats } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { statsQuery } from './database-queries.ts'

const route = getRouteApi('/member/databases/$id')
const count = new Intl.NumberFormat('en')
const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`

type SlowStatement = DatabaseStats['slowStatements'][number]

const COLUMNS: readonly Column<SlowStatement>[] = [
  {
    title: 'Statement',
    cell: ({ query }) => (
      <code className="plaintext block max-w-[60ch] truncate text-xs" title={query.slice(0, 2000)}>
        {query.slice(0, 500)}
      </code>
    ),
  },
  { title: 'Mean', right: true, cell: ({ meanMs }) => milliseconds(meanMs) },
  { title: 'Total', right: true, wide: true, cell: ({ totalMs }) => milliseconds(totalMs) },
  { title: 'Calls', right: true, cell: ({ calls }) => count.format(calls) },
  { title: 'Rows', right: true, wide: true, cell: ({ rows }) => count.format(rows) },
]

/** What the server says of itself. The API has no stream of it, so a button reads it again. */
export function StatsTab() {
  const { id } = route.useParams()
  const query = useQuery(statsQuery(useApi(), id))
  return (
    <QueryView query={query}>
      {(stats) => (
        <div className="flex flex-col gap-5">
          <div className="flex items-center gap-3">
            <Button
              icon={<RefreshCw size={15} aria-hidden />}
              busy={query.isFetching}
              onClick={() => void query.refetch()}
            >
              Read again
            </Button>
            <span className="text-xs text-muted">
              Read <Time at={new Date(query.dataUpdatedAt).toISOString()} />. Reading wakes a sleeping database.
            </span>
          </div>
          <div className="grid gap-5 lg:grid-cols-2">
            <Server stats={stats} />
            <WalArchive archive={stats.archive} />
          </div>
          <Section title="Slowest statements">
            {stats.slowStatements.length === 0 ? (
              <p className="text-muted">No statements were measured yet.</p>
            ) : (
              <Table
                label="Slowest statements"
                columns={COLUMNS}
                rows={stats.slowStatements}
                idOf={({ query: text }) => text}
              />
            )}
          </Section>
        </div>
      )}
    </QueryView>
  )
}

function Server({ stats }: { readonly stats: DatabaseStats }) {
  const ratio = stats.cacheHitRatio
  return (
    <Section title="Server">
      <Facts
        facts={{
          Data: bytes(stats.sizeBytes),
          Connections: `${stats.connections} of ${stats.maxConnections}`,
          'Read from memory': ratio === null ? 'nothing read yet' : `${(ratio * 100).toFixed(1)} %`,
          Commits: count.format(stats.commits),
          Deadlocks: count.format(stats.deadlocks),
        }}
      />
    </Section>
  )
}

function WalArchive({ archive }: { readonly archive: DatabaseStats['archive'] }) {
  return (
    <Section title="Archive for restores">
      <Facts
        facts={{
          State: <StatusBadge status={archive.state} />,
          Size: bytes(archive.sizeBytes),
          'Waiting segments': archive.waitingSegments,
          'Last archived': archive.lastAt === null ? 'never' : <Time at={archive.lastAt} />,
          Complete:
            archive.gapAt === null ? 'yes' : `no, a part was lost at ${new Date(archive.gapAt).toLocaleString()}`,
          ...(archive.objects !== null && { 'Not stored outside the host': bytes(archive.objects.waitingBytes) }),
        }}
      />
    </Section>
  )
}
