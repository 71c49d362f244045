import type { AppInfo } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { AppWindow, Plus } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { appsQuery } from './app-queries.ts'
import { CreateAppDialog } from './create-app-dialog.tsx'

const COLUMNS: readonly Column<AppInfo>[] = [
  {
    title: 'App',
    cell: ({ id, name }) => (
      <Link to="/apps/$id" params={{ id }} className="plaintext font-medium">
        {name}
      </Link>
    ),
  },
  { title: 'State', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    title: 'Repository',
    wide: true,
    cell: ({ gitUrl, gitBranch }) => (
      <span className="plaintext block max-w-96 truncate" title={gitUrl}>
        {gitUrl.replace(/^https?:\/\//, '').replace(/\.git$/, '')} <span className="text-muted">{gitBranch}</span>
      </span>
    ),
  },
  {
    title: 'Address',
    wide: true,
    cell: ({ nameUrl, url }) => (
      <a href={nameUrl ?? url} target="_blank" rel="noreferrer" className="block max-w-64 truncate">
        {(nameUrl ?? url).replace(/^https?:\/\//, '')}
      </a>
    ),
  },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

/** The list of apps. */
export function AppsPage() {
  const query = useQuery(appsQuery(useApi()))
  const [isNew, setNew] = useState(false)
  const button = (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setNew(true)}>
      New app
    </Button>
  )
  return (
    <Page title="Apps" actions={button}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Panel icon={<AppWindow size={28} aria-hidden />} title="No apps yet">
              <p className="max-w-prose text-muted">
                An app serves a git repository at an address. Each deploy builds one commit, and takes over when it is
                healthy.
              </p>
              {button}
            </Panel>
          ) : (
            <Table label="Apps" columns={COLUMNS} rows={all} idOf={({ id }) => id} />
          )
        }
      </QueryView>
      {isNew && <CreateAppDialog onClose={() => setNew(false)} />}
    </Page>
  )
}
