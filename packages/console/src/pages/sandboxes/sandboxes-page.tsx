import type { SandboxInfo } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus, Trash2 } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FilterChoice, INPUT_CLASSES } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import type { SandboxesSearch } from './search.ts'
import { CreateSandboxDialog } from './create-sandbox-dialog.tsx'
import { FirstSandbox } from './first-sandbox.tsx'
import { sandboxesQuery, useSandboxListUpdates } from './sandbox-queries.ts'

const route = getRouteApi('/member/sandboxes')

const COLUMNS: readonly Column<SandboxInfo>[] = [
  {
    title: 'Sandbox',
    cell: ({ id, metadata }) => (
      <Link to="/sandboxes/$id" params={{ id }} className="plaintext font-medium">
        {metadata['name'] ?? <span className="font-mono text-xs">{id}</span>}
      </Link>
    ),
  },
  { title: 'State', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Template', cell: ({ template }) => template },
  { title: 'Tags', wide: true, cell: ({ metadata }) => <Tags metadata={metadata} /> },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Ends', wide: true, cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />) },
]

function Tags({ metadata }: { readonly metadata: SandboxInfo['metadata'] }) {
  return (
    <span className="flex max-w-72 flex-wrap gap-1">
      {Object.entries(metadata)
        .filter(([key]) => key !== 'name')
        .slice(0, 4)
        .map(([key, value]) => (
          <span key={key} className="plaintext max-w-40 truncate rounded bg-raised px-1.5 text-xs text-muted">
            {key}={value}
          </span>
        ))}
    </span>
  )
}

/** The live list of sandboxes. */
export function SandboxesPage() {
  const { api } = useSession()
  useSandboxListUpdates()
  const query = useQuery(sandboxesQuery(api))
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const setNew = (isOpen: boolean) =>
    void navigate({ search: (old) => ({ ...old, new: isOpen || undefined }), replace: true })
  return (
    <Page
      title="Sandboxes"
      actions={
        <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setNew(true)}>
          New sandbox
        </Button>
      }
    >
      <QueryView query={query}>{(all) => (all.length === 0 ? <FirstSandbox /> : <List all={all} />)}</QueryView>
      {search.new === true && <CreateSandboxDialog onClose={() => setNew(false)} />}
    </Page>
  )
}

function List({ all }: { readonly all: readonly SandboxInfo[] }) {
  const { api } = useSession()
  const confirm = useConfirm()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const words = useDeferredValue(search.q ?? '')
  const rows = useMemo(() => all.filter(matches({ ...search, q: words })), [all, search, words])
  const templates = useMemo(() => [...new Set(all.map(({ template }) => template))].toSorted(), [all])
  const chosen = rows.filter(({ id }) => selected.has(id))
  const setFilter = (name: 'q' | 'status' | 'template') => (value: string) =>
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  const remove = () =>
    confirm({
      title: `Delete ${chosen.length} sandboxes?`,
      description: 'Their files and processes are lost. Snapshots stay.',
      action: 'Delete',
      run: async () => {
        await Promise.all(chosen.map(({ id }) => api.sandboxes.delete(id)))
        setSelected(new Set())
      },
    })
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter by name, id or tag"
          value={search.q ?? ''}
          onChange={({ currentTarget }) => setFilter('q')(currentTarget.value)}
          className={`${INPUT_CLASSES} !w-64`}
        />
        <FilterChoice label="State" value={search.status} options={STATES} onChange={setFilter('status')} />
        <FilterChoice label="Template" value={search.template} options={templates} onChange={setFilter('template')} />
        <span className="text-muted" role="status">
          {rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}
        </span>
        {chosen.length > 0 && (
          <Button look="danger" icon={<Trash2 size={15} aria-hidden />} onClick={remove}>
            Delete {chosen.length}
          </Button>
        )}
      </div>
      <Table
        label="Sandboxes"
        columns={COLUMNS}
        rows={rows}
        idOf={({ id }) => id}
        selection={{ ids: new Set(chosen.map(({ id }) => id)), change: setSelected }}
      />
    </>
  )
}

const STATES = ['creating', 'running', 'paused', 'hibernated', 'failed']

function matches({ q = '', status, template }: SandboxesSearch) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return (sandbox: SandboxInfo): boolean => {
    if (status !== undefined && sandbox.status !== status) return false
    if (template !== undefined && sandbox.template !== template) return false
    if (words.length === 0) return true
    const tags = Object.entries(sandbox.metadata).map(([key, value]) => `${key}=${value}`)
    const text = [sandbox.id, sandbox.template, ...tags].join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  }
}
