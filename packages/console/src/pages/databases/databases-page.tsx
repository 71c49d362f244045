import type { DatabaseSummary } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Database, Plus } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { INPUT_CLASSES } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { CreateDatabaseDialog } from './create-database-dialog.tsx'
import { databasesQuery, nameOf } from './database-queries.ts'

const route = getRouteApi('/member/databases')

function columnsFor(all: readonly DatabaseSummary[]): readonly Column<DatabaseSummary>[] {
  const byId = new Map(all.map((each) => [each.id, each]))
  return [
    {
      title: 'Database',
      cell: (database) => (
        <Link to="/databases/$id" params={{ id: database.id }} className="plaintext font-medium">
          {nameOf(database)}
        </Link>
      ),
    },
    { title: 'State', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Memory', cell: ({ size }) => size.replace('g', ' GiB') },
    {
      title: 'Branch of',
      wide: true,
      cell: ({ parentId }) => <Parent id={parentId} parent={parentId === null ? undefined : byId.get(parentId)} />,
    },
    { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
}

function Parent({ id, parent }: { readonly id: string | null; readonly parent: DatabaseSummary | undefined }) {
  if (id === null) return <span className="text-muted">none</span>
  if (parent === undefined) return <span className="text-muted">a deleted database</span>
  return (
    <Link to="/databases/$id" params={{ id }} className="plaintext">
      {nameOf(parent)}
    </Link>
  )
}

/** The live list of databases. */
export function DatabasesPage() {
  const query = useQuery(databasesQuery(useApi()))
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const setNew = (isOpen: boolean) => void navigate({ search: isOpen ? { new: true } : {}, replace: true })
  return (
    <Page title="Databases" actions={<NewButton onClick={() => setNew(true)} />}>
      <QueryView query={query}>
        {(all) => (all.length === 0 ? <Empty onCreate={() => setNew(true)} /> : <List all={all} />)}
      </QueryView>
      {search.new === true && <CreateDatabaseDialog onClose={() => setNew(false)} />}
    </Page>
  )
}

function NewButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={onClick}>
      New database
    </Button>
  )
}

function Empty({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <Panel icon={<Database size={28} aria-hidden />} title="No databases yet">
      <p className="max-w-prose text-muted">
        A database is a PostgreSQL of its own. It sleeps while nobody uses it, can be branched with all its data, and
        restored to any moment.
      </p>
      <NewButton onClick={onCreate} />
    </Panel>
  )
}

function List({ all }: { readonly all: readonly DatabaseSummary[] }) {
  const [filter, setFilter] = useState('')
  const words = useDeferredValue(filter.toLowerCase())
  const columns = useMemo(() => columnsFor(all), [all])
  const rows = useMemo(
    () => all.filter((each) => `${each.label}\n${each.id}\n${each.status}`.toLowerCase().includes(words)),
    [all, words],
  )
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter by name, id or state"
          value={filter}
          onChange={({ currentTarget }) => setFilter(currentTarget.value)}
          className={`${INPUT_CLASSES} !w-64`}
        />
        <span className="text-muted" role="status">
          {rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}
        </span>
      </div>
      <Table label="Databases" columns={columns} rows={rows} idOf={({ id }) => id} />
    </>
  )
}
