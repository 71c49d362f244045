import type { Build } from '@offshoot/sdk'
import { Link } from '@tanstack/react-router'
import { StatusBadge } from '../../ui/badge.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, duration, Time } from '../../ui/time.tsx'

/** What became of the build, or where it is. */
export function BuildState({ build: { status, stage, percent } }: { readonly build: Build }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <StatusBadge status={status} />
      {(status === 'running' || status === 'baking') && (
        <span className="text-xs text-muted">
          {stage}, {percent} %
        </span>
      )}
    </span>
  )
}

const took = ({ startedAt, endedAt }: Build) =>
  startedAt === null || endedAt === null ? '' : duration(Date.parse(endedAt) - Date.parse(startedAt))

const COLUMNS: readonly Column<Build>[] = [
  {
    title: 'Build',
    cell: ({ id, name }) => (
      <Link to="/builds/$id" params={{ id }} className="plaintext font-medium">
        {name}
      </Link>
    ),
  },
  {
    title: 'State',
    cell: (build) => (
      <span className="flex flex-col items-start gap-1">
        <BuildState build={build} />
        {build.error !== null && (
          <span className="plaintext line-clamp-2 max-w-prose text-xs text-bad">{build.error.slice(0, 500)}</span>
        )}
      </span>
    ),
  },
  { title: 'Archive', wide: true, cell: ({ bytes: size }) => bytes(size) },
  { title: 'Took', wide: true, cell: took },
  { title: 'Begun', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
]

export function BuildsTable({ builds }: { readonly builds: readonly Build[] }) {
  return <Table label="Builds" columns={COLUMNS} rows={builds} idOf={({ id }) => id} />
}
