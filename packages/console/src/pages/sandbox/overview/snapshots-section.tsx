import type { Sandbox, Snapshot } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Camera, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { useConfirm } from '../../../ui/confirm.tsx'
import { FormDialog } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/field.tsx'
import { Section } from '../../../ui/page.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { bytes, Time } from '../../../ui/time.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'

const ICON = { size: 14, 'aria-hidden': true } as const

/** The snapshots of the sandbox, from which new ones start. */
export function SnapshotsSection({ sandbox }: { readonly sandbox: Sandbox }) {
  const api = useApi()
  const queries = useQueryClient()
  const [isTaking, setTaking] = useState(false)
  const queryKey = ['snapshot', 'list', { sandboxId: sandbox.id }]
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => api.snapshots.list({ sandboxId: sandbox.id, signal }).all(),
  })
  const readAgain = async () => queries.invalidateQueries({ queryKey })
  return (
    <Section
      title="Snapshots"
      actions={
        <Button small icon={<Camera {...ICON} />} onClick={() => setTaking(true)}>
          Take a snapshot
        </Button>
      }
    >
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <p className="text-muted">
              A snapshot keeps the memory and the disk of one instant. New sandboxes continue from it.
            </p>
          ) : (
            <ul aria-label="Snapshots" className="divide-y">
              {all.map((snapshot) => (
                <Entry key={snapshot.id} snapshot={snapshot} onDeleted={readAgain} />
              ))}
            </ul>
          )
        }
      </QueryView>
      {isTaking && <SnapshotDialog sandbox={sandbox} onTaken={readAgain} onClose={() => setTaking(false)} />}
    </Section>
  )
}

interface EntryProps {
  readonly snapshot: Snapshot
  readonly onDeleted: () => Promise<unknown>
}

function Entry({ snapshot: { id, name, template, createdAt, sizeBytes }, onDeleted }: EntryProps) {
  const api = useApi()
  const tell = useTell()
  const confirm = useConfirm()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const start = async () => {
    const made = await api.sandboxes.create({ template, fromSnapshot: id })
    queries.setQueryData(sandboxQuery(api, made.id).queryKey, made.info)
    await navigate({ to: '/sandboxes/$id/terminal', params: { id: made.id } })
  }
  const tellStart = async () => {
    setBusy(true)
    await tell.whether(start())
    setBusy(false)
  }
  const remove = () =>
    confirm({
      title: 'Delete this snapshot?',
      description: 'Sandboxes that were made from it go on.',
      action: 'Delete',
      run: async () => {
        await api.snapshots.delete(id)
        await onDeleted()
      },
    })
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
      <span className="plaintext min-w-0 grow">{name ?? <span className="font-mono text-xs">{id}</span>}</span>
      <span className="text-muted">
        <Time at={createdAt} />, {bytes(sizeBytes)}
      </span>
      <Button small icon={<Plus {...ICON} />} busy={isBusy} onClick={() => void tellStart()}>
        New sandbox
      </Button>
      <IconButton small label={`Delete the snapshot ${name ?? id}`} icon={<Trash2 {...ICON} />} onClick={remove} />
    </li>
  )
}

interface SnapshotDialogProps {
  readonly sandbox: Sandbox
  readonly onTaken: () => Promise<unknown>
  readonly onClose: () => void
}

function SnapshotDialog({ sandbox, onTaken, onClose }: SnapshotDialogProps) {
  const [name, setName] = useState('')
  const take = async () => {
    await sandbox.snapshot(name.trim() === '' ? {} : { name: name.trim() })
    await onTaken()
  }
  return (
    <FormDialog title="Take a snapshot" open submit="Take it" onSubmit={take} onClose={onClose}>
      <Field label="Name" hint="It need not be unique.">
        <Input value={name} onValueChange={setName} maxLength={128} autoFocus />
      </Field>
    </FormDialog>
  )
}
