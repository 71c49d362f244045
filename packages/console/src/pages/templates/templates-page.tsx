import type { Template } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { BuildDialog } from './build-dialog.tsx'
import { BuildsTable } from './builds-table.tsx'
import { buildsQuery, templatesQuery } from './template-queries.ts'

const COLUMNS: readonly Column<Template>[] = [
  {
    title: 'Template',
    cell: ({ name }) => (
      <Link to="/templates/$name" params={{ name }} className="plaintext font-medium">
        {name}
      </Link>
    ),
  },
  { title: 'Of', cell: ({ isGlobal }) => (isGlobal ? <Badge>the service</Badge> : <Badge tone="accent">you</Badge>) },
  { title: 'vCPU', wide: true, cell: ({ cpu }) => cpu },
  { title: 'Memory', cell: ({ memoryMb }) => `${memoryMb} MiB` },
  { title: 'On disk', wide: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

/** The templates of the service and of the workspace, and all builds. */
export function TemplatesPage() {
  const api = useApi()
  const templates = useQuery(templatesQuery(api))
  const builds = useQuery(buildsQuery(api))
  const [isBuilding, setBuilding] = useState(false)
  return (
    <Page
      title="Templates"
      description="What sandboxes start from: a machine that was booted once, and frozen."
      actions={
        <Button look="primary" icon={<Upload size={16} aria-hidden />} onClick={() => setBuilding(true)}>
          Build a template
        </Button>
      }
    >
      <QueryView query={templates}>
        {(all) => (
          // Those of the workspace come first.
          <Table
            label="Templates"
            columns={COLUMNS}
            rows={all.toSorted((a, b) => Number(a.isGlobal) - Number(b.isGlobal))}
            idOf={({ name }) => name}
          />
        )}
      </QueryView>
      <Section title="Builds">
        <QueryView query={builds}>
          {(all) =>
            all.length === 0 ? (
              <p className="text-muted">
                No builds yet. Drop an archive of a container image to make a template of your own.
              </p>
            ) : (
              <BuildsTable builds={all} />
            )
          }
        </QueryView>
      </Section>
      {isBuilding && <BuildDialog onClose={() => setBuilding(false)} />}
    </Page>
  )
}
