import type { VolumeInfo, VolumeSnapshot } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Camera, Copy, Expand, HardDrive, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { CopyRow } from '../../ui/copy-row.tsx'
import { DeleteDialog } from '../../ui/delete-dialog.tsx'
import { Facts, Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { AttachedTo } from './attached-to.tsx'
import { CloneVolumeDialog, CreateVolumeDialog, ResizeVolumeDialog } from './volume-dialogs.tsx'
import { COPY_TIMEOUT_MS, volumeQuery, volumeSnapshotsQuery } from './volume-queries.ts'

const route = getRouteApi('/member/volumes/$name')

/** One volume with its snapshots. */
export function VolumePage() {
  const { name } = route.useParams()
  const query = useQuery(volumeQuery(useApi(), name))
  return (
    <QueryView query={query} ofPage>
      {(volume) => (
        <Page title={name} actions={<Actions volume={volume} />}>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-5 lg:grid-cols-2">
            <Section title="About">
              <Facts
                facts={{
                  Size: bytes(volume.sizeBytes),
                  Used: volume.usedBytes === null ? 'not known: its host cannot be reached' : bytes(volume.usedBytes),
                  'Attached to': <AttachedTo attachments={volume.attachments} />,
                  Host: <span className="font-mono text-xs">{volume.agentId}</span>,
                  Made: <Time at={volume.createdAt} />,
                }}
              />
            </Section>
            <Section title="Use it">
              <div className="flex flex-col gap-3">
                <CopyRow label="A sandbox with it" text={`offshoot create --volume ${name}`} />
                <CopyRow label="In the sandbox" text="mkdir -p /data && mount /dev/vdb /data" />
              </div>
            </Section>
          </div>
          <Snapshots name={name} />
        </Page>
      )}
    </QueryView>
  )
}

function Actions({ volume }: { readonly volume: VolumeInfo }) {
  const api = useApi()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [open, setOpen] = useState<'resize' | 'clone' | 'delete' | null>(null)
  const close = () => setOpen(null)
  const { length: users } = volume.attachments
  const remove = async () => {
    await api.volumes.delete(volume.name)
    void queries.invalidateQueries({ queryKey: ['volume', 'list', 'info'] })
    await navigate({ to: '/volumes' })
  }
  return (
    <>
      <Button icon={<Expand size={15} aria-hidden />} onClick={() => setOpen('resize')}>
        Resize
      </Button>
      <Button icon={<Copy size={15} aria-hidden />} onClick={() => setOpen('clone')}>
        Clone
      </Button>
      <Button look="danger" icon={<Trash2 size={15} aria-hidden />} onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {open === 'resize' && <ResizeVolumeDialog volume={volume} onClose={close} />}
      {open === 'clone' && <CloneVolumeDialog volume={volume} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog kind="volume" name={volume.name} run={remove} onClose={close} leaves>
          {users === 0
            ? 'Its content is lost. Its snapshots stay.'
            : `${users === 1 ? 'A sandbox has' : `${users} sandboxes have`} it attached. The service refuses to delete it before ${users === 1 ? 'that sandbox is' : 'they are'} deleted.`}
        </DeleteDialog>
      )}
    </>
  )
}

interface SnapshotActions {
  readonly use: (snapshot: VolumeSnapshot) => void
  readonly remove: (snapshot: VolumeSnapshot) => void
}

const columnsFor = ({ use, remove }: SnapshotActions): readonly Column<VolumeSnapshot>[] => [
  { title: 'Snapshot', cell: ({ id }) => <span className="font-mono text-xs">{id}</span> },
  { title: 'Size', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: 'Actions',
    right: true,
    cell: (snapshot) => (
      <span className="inline-flex gap-1">
        <IconButton
          small
          label="New volume from this snapshot"
          icon={<HardDrive size={14} aria-hidden />}
          onClick={() => use(snapshot)}
        />
        <IconButton
          small
          label="Delete this snapshot"
          icon={<Trash2 size={14} aria-hidden />}
          onClick={() => remove(snapshot)}
        />
      </span>
    ),
  },
]

function Snapshots({ name }: { readonly name: string }) {
  const api = useApi()
  const queries = useQueryClient()
  const tell = useTell()
  const confirm = useConfirm()
  const options = volumeSnapshotsQuery(api, name)
  const query = useQuery(options)
  const [isMaking, setMaking] = useState(false)
  const [used, setUsed] = useState<VolumeSnapshot | null>(null)
  const readAgain = async () => queries.invalidateQueries({ queryKey: options.queryKey })
  const make = async () => {
    setMaking(true)
    const work = api.volumes.get(name).then(async (volume) => volume.snapshots.create({ timeoutMs: COPY_TIMEOUT_MS }))
    await tell.whether(work, 'The snapshot is made')
    await readAgain()
    setMaking(false)
  }
  const remove = (snapshot: VolumeSnapshot) =>
    confirm({
      title: 'Delete this snapshot?',
      description: 'Volumes that were made from it stay.',
      action: 'Delete',
      run: async () => {
        await (await api.volumes.get(name)).snapshots.delete(snapshot)
        await readAgain()
      },
    })
  const button = (
    <Button icon={<Camera size={15} aria-hidden />} busy={isMaking} onClick={() => void make()}>
      Take a snapshot
    </Button>
  )
  return (
    <Section title="Snapshots" actions={button}>
      <QueryView query={query}>
        {(snapshots) =>
          snapshots.length === 0 ? (
            <p className="text-muted">No snapshots yet. A snapshot keeps the content of one instant.</p>
          ) : (
            <Table
              label="Snapshots"
              columns={columnsFor({ use: setUsed, remove })}
              rows={snapshots}
              idOf={({ id }) => id}
            />
          )
        }
      </QueryView>
      {used !== null && <CreateVolumeDialog snapshot={used} onClose={() => setUsed(null)} />}
    </Section>
  )
}
