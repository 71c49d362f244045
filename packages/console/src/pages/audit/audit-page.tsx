import type { RouteAnswer } from '@offshoot/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { Download, ScrollText } from 'lucide-react'
import { useMemo, useState } from 'react'
import { usePages } from '../../live/use-pages.ts'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorPanel, Panel } from '../../ui/error-panel.tsx'
import { FilterChoice, INPUT_CLASSES } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Facts, Page } from '../../ui/page.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Snippet } from '../../ui/snippet.tsx'
import { RefreshButton } from '../../ui/refresh-button.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { useMemberNames } from '../members/member-queries.ts'
import { ACTIONS, auditQuery, type AuditSearch, TARGET_KINDS } from './audit-search.ts'

export type Entry = RouteAnswer<'GET /v1/audit'>[number]

const route = getRouteApi('/member/audit')

/** Milliseconds for an export, which can be long. */
const EXPORT_MS = 600_000

/** Who did what in the workspace. */
export function AuditPage() {
  const { api } = useSession()
  const search = route.useSearch()
  const query = useMemo(() => auditQuery(search), [search])
  const { query: pages, rows, more } = usePages(api, 'GET /v1/audit', ['audit', query], { query })
  return (
    <Page
      title="Audit log"
      description="Every change, every secret that was shown and every SSH connection. Newest first."
      actions={
        <>
          <RefreshButton busy={pages.isRefetching} refetch={pages.refetch} />
          <Export />
        </>
      }
    >
      <Filters />
      {rows === undefined ? (
        pages.isError ? (
          <ErrorPanel error={pages.error} retry={() => void pages.refetch()} />
        ) : (
          <Loading />
        )
      ) : (
        <>
          <List entries={rows} more={more} />
          {pages.isFetchingNextPage && <Loading />}
          {pages.isFetchNextPageError && <ErrorPanel error={pages.error} retry={() => void pages.fetchNextPage()} />}
        </>
      )}
    </Page>
  )
}

function Filters() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const set = (name: keyof AuditSearch) => (value: string) =>
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  return (
    <search className="flex flex-wrap items-center gap-2" aria-label="Filters">
      <FilterChoice label="Action" value={search.action} options={ACTIONS} onChange={set('action')} />
      <FilterChoice label="Object" value={search.kind} options={TARGET_KINDS} onChange={set('kind')} />
      <Text label="Id or name of the object" value={search.target} onChange={set('target')} />
      <Text label="Id of a user, prefix of a key" value={search.actor} onChange={set('actor')} />
      <Text label="Request id" value={search.request} onChange={set('request')} />
      <Day label="From" value={search.after} onChange={set('after')} />
      <Day label="To" value={search.before} onChange={set('before')} />
      {Object.values(search).some((value) => value !== undefined) && (
        <Button look="quiet" onClick={() => void navigate({ search: {}, replace: true })}>
          Clear
        </Button>
      )}
    </search>
  )
}

interface FilterProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}

/** Takes effect with Enter or when it loses the focus: each change is a request. */
function Text({ label, value = '', onChange }: FilterProps) {
  const apply = (typed: string) => {
    if (typed.trim() !== value) onChange(typed.trim())
  }
  return (
    <input
      type="search"
      key={value}
      aria-label={label}
      placeholder={label}
      defaultValue={value}
      onBlur={({ currentTarget }) => apply(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && apply(currentTarget.value)}
      className={`${INPUT_CLASSES} !w-56`}
    />
  )
}

function Day({ label, value = '', onChange }: FilterProps) {
  return (
    <label className="flex items-center gap-2 text-muted">
      {label}
      <input
        type="date"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        className={`${INPUT_CLASSES} !w-auto`}
      />
    </label>
  )
}

function Export() {
  const { api } = useSession()
  const search = route.useSearch()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const save = async (format: 'csv' | 'ndjson') => {
    setBusy(true)
    const query = { ...auditQuery(search), format }
    const run = async () => {
      const response = await api.fetch('GET /v1/audit/export', { query, timeoutMs: EXPORT_MS })
      saveFile(`audit.${format}`, await response.blob())
    }
    await tell.whether(run())
    setBusy(false)
  }
  return (
    <Menu
      trigger={
        <Button icon={<Download size={15} aria-hidden />} busy={isBusy}>
          Export
        </Button>
      }
      groups={[
        [
          { label: 'CSV', run: () => void save('csv') },
          { label: 'JSON lines', run: () => void save('ndjson') },
        ],
      ]}
    />
  )
}

function List({ entries, more }: { readonly entries: readonly Entry[]; readonly more: () => void }) {
  const nameOf = useMemberNames()
  const [shown, setShown] = useState<Entry | null>(null)
  if (entries.length === 0) {
    return (
      <Panel icon={<ScrollText size={28} aria-hidden />} title="No entries">
        <p className="text-muted">Nothing fits the filters.</p>
      </Panel>
    )
  }
  const columns: readonly Column<Entry>[] = [
    { title: 'When', wide: true, cell: ({ created_at: at }) => <Time at={at} /> },
    { title: 'Who', cell: ({ actor }) => <Actor actor={actor} nameOf={nameOf} /> },
    {
      title: 'What',
      cell: (entry) => (
        <button
          type="button"
          className="plaintext cursor-pointer text-left text-accent"
          aria-label={`Details: ${whatOf(entry)}`}
          onClick={() => setShown(entry)}
        >
          {whatOf(entry)}
        </button>
      ),
    },
    {
      title: 'Object',
      wide: true,
      cell: ({ target, target_kind: kind }) => (
        <span className="plaintext">
          {kind !== null && <span className="text-muted">{kind} </span>}
          <span className="font-mono text-xs">{target}</span>
        </span>
      ),
    },
    { title: 'Status', right: true, cell: ({ details }) => <Status status={details['status']} /> },
  ]
  return (
    <>
      <Table label="Entries" columns={columns} rows={entries} idOf={({ id }) => id} onEnd={more} />
      {shown !== null && <Details entry={shown} nameOf={nameOf} onClose={() => setShown(null)} />}
    </>
  )
}

function whatOf({ action, details }: Entry): string {
  const { method, route: path } = details
  return typeof method === 'string' && typeof path === 'string' ? `${method} ${path}` : action
}

type NameOf = (userId: string | null) => string

function Actor({ actor: { type, id }, nameOf }: { readonly actor: Entry['actor']; readonly nameOf: NameOf }) {
  return (
    <span className="plaintext">
      {type === 'user' ? nameOf(id) : type}
      {type !== 'user' && id !== null && <span className="font-mono text-xs text-muted"> {id}</span>}
    </span>
  )
}

function Status({ status }: { readonly status: unknown }) {
  if (typeof status !== 'number') return null
  return <Badge tone={status < 400 ? 'good' : 'bad'}>{status}</Badge>
}

interface DetailsProps {
  readonly entry: Entry
  readonly nameOf: NameOf
  readonly onClose: () => void
}

function Details({ entry, nameOf, onClose }: DetailsProps) {
  const { actor, action, target, target_kind: kind, ip, request_id: requestId, details, created_at: at } = entry
  return (
    <Dialog open wide title={whatOf(entry)} onClose={onClose}>
      <div className="flex min-w-0 flex-col gap-4">
        <Facts
          facts={{
            Time: new Date(at).toISOString(),
            Who: <Actor actor={actor} nameOf={nameOf} />,
            'Id of the actor': actor.id ?? 'none',
            Action: action,
            Object: [kind, target].filter(Boolean).join(' ') || 'none',
            Address: ip ?? 'not known',
            'Request id':
              requestId === null ? (
                'none'
              ) : (
                <span className="flex items-center gap-1 font-mono text-xs">
                  {requestId} <CopyButton text={requestId} label="Copy the request id" />
                </span>
              ),
          }}
        />
        <Snippet label="Details" text={JSON.stringify(details, null, 2)} />
      </div>
    </Dialog>
  )
}
