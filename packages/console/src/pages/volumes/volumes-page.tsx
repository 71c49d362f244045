import type { VolumeInfo } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { HardDrive, Plus } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { AttachedTo } from './attached-to.tsx'
import { CreateVolumeDialog } from './volume-dialogs.tsx'
import { volumesQuery } from './volume-queries.ts'

const COLUMNS: readonly Column<VolumeInfo>[] = [
  {
    title: 'Volume',
    cell: ({ name }) => (
      <Link to="/volumes/$name" params={{ name }} className="plaintext font-medium">
        {name}
      </Link>
    ),
  },
  { title: 'Size', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  {
    title: 'Used',
    wide: true,
    cell: ({ usedBytes }) => (usedBytes === null ? <span className="text-muted">not known</span> : bytes(usedBytes)),
  },
  { title: 'Attached to', cell: ({ attachments }) => <AttachedTo attachments={attachments} /> },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** The list of volumes. */
export function VolumesPage() {
  const query = useQuery(volumesQuery(useApi()))
  const [isNew, setNew] = useState(false)
  const button = (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setNew(true)}>
      New volume
    </Button>
  )
  return (
    <Page title="Volumes" actions={button}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Panel icon={<HardDrive size={28} aria-hidden />} title="No volumes yet">
              <p className="max-w-prose text-muted">
                A volume is a disk that outlives sandboxes. One sandbox writes it, or any number read it.
              </p>
              {button}
            </Panel>
          ) : (
            <Table label="Volumes" columns={COLUMNS} rows={all} idOf={({ name }) => name} />
          )
        }
      </QueryView>
      {isNew && <CreateVolumeDialog onClose={() => setNew(false)} />}
    </Page>
  )
}
