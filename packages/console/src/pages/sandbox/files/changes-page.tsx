import { NotFoundError, type Sandbox, type SandboxInfo } from '@offshoot/sdk'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { GitCompareArrows } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Badge, type Tone } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ErrorPanel, Panel } from '../../../ui/error-panel.tsx'
import { Section } from '../../../ui/page.tsx'
import { Loading, QueryView } from '../../../ui/query-view.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { bytes } from '../../../ui/time.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { NotRunning } from '../not-running.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { compare, type Difference, listAll } from './comparison.ts'
import { load } from './content.ts'

const Diff = lazy(async () => ({ default: (await import('./editor.tsx')).Diff }))

const route = getRouteApi('/member/sandboxes/$id/changes')

/** Seconds for which a sandbox that was started for a comparison lives at most. */
const COMPARISON_SECONDS = 900

/** What differs from the sandbox, snapshot or template that the sandbox came of. */
export function ChangesPage() {
  const { id } = route.useParams()
  const { data: sandbox } = useSuspenseQuery(sandboxQuery(useApi(), id))
  return (
    <NotRunning sandbox={sandbox} what="Comparing files">
      <Changes key={id} info={sandbox} />
    </NotRunning>
  )
}

function Changes({ info }: { readonly info: SandboxInfo }) {
  const api = useApi()
  const { path = '/' } = route.useSearch()
  const [origin, setOrigin] = useState<Origin | null>(null)
  const parent = useQuery({
    queryKey: ['sandbox', info.parentId ?? 'none', 'as-parent'],
    queryFn: async ({ signal }) => {
      if (info.parentId === null) return null
      return api.sandboxes.get(info.parentId, { signal }).catch((error: unknown) => {
        if (error instanceof NotFoundError) return null
        throw error
      })
    },
  })
  useEffect(() => {
    // A sandbox that was started for the comparison ends with it.
    if (origin?.isTemporary === true) return () => void origin.sandbox.delete().catch(() => undefined)
    return undefined
  }, [origin])
  if (origin !== null) return <Compared info={info} path={path} origin={origin} />
  return (
    <QueryView query={parent}>
      {(found) => <Ask info={info} path={path} parent={found} onOrigin={setOrigin} />}
    </QueryView>
  )
}

interface Origin {
  readonly sandbox: Sandbox
  readonly name: string
  readonly isTemporary: boolean
}

interface AskProps {
  readonly info: SandboxInfo
  readonly path: string
  readonly parent: Sandbox | null
  readonly onOrigin: (origin: Origin) => void
}

function Ask({ info, path, parent, onOrigin }: AskProps) {
  const api = useApi()
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const { fromSnapshot, template, id } = info
  const name = fromSnapshot === null ? `the template ${template}` : 'the snapshot that it came of'
  const start = async () => {
    setBusy(true)
    setError(null)
    try {
      const from = fromSnapshot === null ? { template } : { template, fromSnapshot }
      const metadata = { name: `comparison with ${id.slice(0, 8)}` }
      const sandbox = await api.sandboxes.create({ ...from, metadata, ttlSeconds: COMPARISON_SECONDS })
      onOrigin({ sandbox, name, isTemporary: true })
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  if (error !== null) return <ErrorPanel error={error} retry={() => setError(null)} />
  return (
    <Panel icon={<GitCompareArrows size={28} aria-hidden />} title={`What changed in ${path}?`}>
      {parent === null ? (
        <p className="max-w-prose text-muted">
          A comparison starts a sandbox from {name}. It is deleted when you leave this page, at the latest after a
          quarter of an hour.
        </p>
      ) : (
        <p className="max-w-prose text-muted">
          The parent of this sandbox still exists. The comparison is with its files as they are now.
        </p>
      )}
      <div className="flex flex-wrap justify-center gap-2">
        {parent !== null && (
          <Button look="primary" onClick={() => onOrigin({ sandbox: parent, name: 'the parent', isTemporary: false })}>
            Compare with the parent
          </Button>
        )}
        <Button look={parent === null ? 'primary' : 'plain'} busy={isBusy} onClick={() => void start()}>
          Compare with {fromSnapshot === null ? 'the template' : 'the snapshot'}
        </Button>
      </div>
    </Panel>
  )
}

interface ComparedProps {
  readonly info: SandboxInfo
  readonly path: string
  readonly origin: Origin
}

const TONES: Record<Difference['change'], Tone> = { added: 'good', removed: 'bad', changed: 'warn' }

const columns = (show: (difference: Difference) => void): readonly Column<Difference>[] => [
  { title: 'Change', cell: ({ change }) => <Badge tone={TONES[change]}>{change}</Badge> },
  {
    title: 'Path',
    cell: (row) =>
      (row.before ?? row.after)?.type === 'file' ? (
        <button
          type="button"
          className="plaintext cursor-pointer text-left font-mono text-xs text-accent hover:underline"
          onClick={() => show(row)}
        >
          {row.path}
        </button>
      ) : (
        <span className="plaintext font-mono text-xs">{row.path}</span>
      ),
  },
  { title: 'Before', wide: true, right: true, cell: ({ before }) => (before === null ? '' : bytes(before.size)) },
  { title: 'Now', wide: true, right: true, cell: ({ after }) => (after === null ? '' : bytes(after.size)) },
]

function Compared({ info, path, origin }: ComparedProps) {
  const sandbox = useSandboxHandle(info.id)
  const [shown, setShown] = useState<Difference | null>(null)
  const query = useQuery({
    queryKey: ['files', info.id, 'changes', origin.sandbox.id, path],
    queryFn: async ({ signal }) => {
      const before = listAll(origin.sandbox, path, signal).catch((error: unknown) => {
        // The folder is new.
        if (error instanceof NotFoundError) return []
        throw error
      })
      return compare(...(await Promise.all([before, listAll(sandbox, path, signal)])))
    },
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <p className="plaintext mr-auto text-muted">
          {path}, compared with {origin.name}. Files with equal size, mode and time count as equal.
        </p>
        <Link to="/sandboxes/$id/files" params={{ id: info.id }} search={{ path }}>
          To the files
        </Link>
        <Button small busy={query.isFetching} onClick={() => void query.refetch()}>
          Compare again
        </Button>
      </div>
      {shown !== null && <FileDifference key={shown.path} sandbox={sandbox} origin={origin} difference={shown} />}
      <QueryView query={query}>
        {(differences) =>
          differences.length === 0 ? (
            <Panel icon={<GitCompareArrows size={28} aria-hidden />} title="Nothing differs" />
          ) : (
            <Table
              label={`${differences.length} differences`}
              columns={columns(setShown)}
              rows={differences}
              idOf={(row) => row.path}
            />
          )
        }
      </QueryView>
    </div>
  )
}

interface FileDifferenceProps {
  readonly sandbox: Sandbox
  readonly origin: Origin
  readonly difference: Difference
}

function FileDifference({ sandbox, origin, difference: { path, before, after } }: FileDifferenceProps) {
  const query = useQuery({
    queryKey: ['files', sandbox.id, 'difference', origin.sandbox.id, path],
    queryFn: async ({ signal }) => {
      const read = async (of: Sandbox, exists: boolean) =>
        exists ? (await load(of, path, signal)).content : ({ is: 'text', text: '' } as const)
      return Promise.all([read(origin.sandbox, before !== null), read(sandbox, after !== null)])
    },
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <Section title={path}>
      <QueryView query={query}>
        {([old, now]) =>
          old.is === 'text' && now.is === 'text' ? (
            <Suspense fallback={<Loading />}>
              <Diff before={old.text} after={now.text} />
            </Suspense>
          ) : (
            <p className="text-muted">It is too large or no text, so its content is not compared here.</p>
          )
        }
      </QueryView>
    </Section>
  )
}
