import type { DatabaseSummary } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { GitBranch, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { DeleteDialog } from '../../ui/delete-dialog.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Time } from '../../ui/time.tsx'
import { BranchDialog } from './branch-dialog.tsx'
import { type Branch, treeOf } from './branch-tree.ts'
import { databasesQuery, nameOf } from './database-queries.ts'

const route = getRouteApi('/member/databases/$id')

type Ask = { readonly kind: 'branch' | 'delete'; readonly database: DatabaseSummary }

/** The family of the database as a tree: where each branch comes from. */
export function BranchesTab() {
  const { id } = route.useParams()
  const api = useApi()
  const navigate = useNavigate()
  const query = useQuery(databasesQuery(api))
  const [ask, setAsk] = useState<Ask | null>(null)
  const remove = async ({ id: removed }: DatabaseSummary) => {
    await api.databases.delete(removed)
    if (removed === id) await navigate({ to: '/databases', search: {} })
  }
  return (
    <Section title="Branches">
      <QueryView query={query}>
        {(all) => {
          const tree = treeOf(all, id)
          if (tree === null) return <p className="text-muted">This database is not listed any more.</p>
          return (
            <>
              <ul aria-label="Branches" className="min-w-0 overflow-x-auto p-1">
                <Node branch={tree} current={id} onAsk={setAsk} />
              </ul>
              {tree.children.length === 0 && (
                <p className="mt-3 text-muted">
                  No branches yet. A branch is another database with all data of this instant, for a test, a preview or
                  an experiment.
                </p>
              )}
            </>
          )
        }}
      </QueryView>
      {ask?.kind === 'branch' && <BranchDialog database={ask.database} onClose={() => setAsk(null)} />}
      {ask?.kind === 'delete' && (
        <DeleteDialog
          kind="database"
          name={nameOf(ask.database)}
          run={async () => remove(ask.database)}
          onClose={() => setAsk(null)}
        >
          Its data, its backups and its archive are lost. Its own branches stay.
        </DeleteDialog>
      )}
    </Section>
  )
}

interface NodeProps {
  readonly branch: Branch
  readonly current: string
  readonly onAsk: (ask: Ask) => void
}

function Node({ branch: { database, children }, current, onAsk }: NodeProps) {
  const name = nameOf(database)
  const isCurrent = database.id === current
  return (
    <li className="min-w-64">
      <div
        className={classes(
          'my-1 flex flex-wrap items-center gap-2 rounded-md border px-3 py-1.5',
          isCurrent ? 'border-accent bg-accent-soft' : 'bg-surface',
        )}
      >
        <Link
          to="/databases/$id/branches"
          params={{ id: database.id }}
          className="plaintext font-medium"
          aria-current={isCurrent ? 'true' : undefined}
        >
          {name}
        </Link>
        <StatusBadge status={database.status} />
        {isCurrent && <Badge tone="accent">this one</Badge>}
        <span className="text-xs text-muted">
          <Time at={database.createdAt} />
        </span>
        <span className="ml-auto flex gap-1">
          <Button
            small
            icon={<GitBranch size={14} aria-hidden />}
            aria-label={`Branch ${name}`}
            onClick={() => onAsk({ kind: 'branch', database })}
          >
            Branch
          </Button>
          <IconButton
            small
            label={`Delete ${name}`}
            icon={<Trash2 size={14} aria-hidden />}
            onClick={() => onAsk({ kind: 'delete', database })}
          />
        </span>
      </div>
      {children.length > 0 && (
        <ul className="ml-4 border-l-2 pl-4">
          {children.map((child) => (
            <Node key={child.database.id} branch={child} current={current} onAsk={onAsk} />
          ))}
        </ul>
      )}
    </li>
  )
}
