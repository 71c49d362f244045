import type { CreatedPreviewLink, Sandbox } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button, IconButton } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Choice, Field, Input } from '../../../ui/field.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { Time } from '../../../ui/time.tsx'
import { useTell } from '../../../ui/toasts.tsx'

const LIFETIMES = [
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '604800', label: 'a week' },
  { value: '2592000', label: '30 days' },
]

interface LinksDialogProps {
  readonly sandbox: Sandbox
  readonly port: number
  readonly onClose: () => void
}

/** Links that open a private port. */
export function LinksDialog({ sandbox, port, onClose }: LinksDialogProps) {
  const links = sandbox.ports.links(port)
  const tell = useTell()
  const [label, setLabel] = useState('')
  const [seconds, setSeconds] = useState('86400')
  const [made, setMade] = useState<CreatedPreviewLink | null>(null)
  const [isBusy, setBusy] = useState(false)
  const query = useQuery({
    queryKey: ['sandbox', sandbox.id, 'links', port],
    queryFn: async ({ signal }) => sandbox.ports.links(port).list({ signal }).all(),
    staleTime: 0,
  })
  const create = async () => {
    setMade(await links.create({ expiresInSeconds: Number(seconds), ...(label !== '' && { label }) }))
    setLabel('')
    await query.refetch()
  }
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    await tell.whether(create())
    setBusy(false)
  }
  const revoke = async (id: string) => {
    await links.delete(id)
    if (made?.id === id) setMade(null)
    await query.refetch()
  }
  return (
    <Dialog
      title={`Links to port ${port}`}
      description="Whoever has a link may open the port while the sandbox is private."
      open
      onClose={onClose}
      wide
    >
      <form onSubmit={(event) => void send(event)} className="flex flex-wrap items-end gap-3">
        <Field label="Label" className="min-w-40 grow">
          <Input value={label} onValueChange={setLabel} />
        </Field>
        <Field label="Valid for">
          <Choice options={LIFETIMES} value={seconds} onChoose={setSeconds} />
        </Field>
        <Button type="submit" look="primary" busy={isBusy}>
          Create a link
        </Button>
      </form>
      {made !== null && (
        <div className="mt-4 flex items-center gap-2 rounded-md bg-good-soft p-3" role="status">
          <code className="plaintext min-w-0 grow text-xs">{made.url}</code>
          <CopyButton text={made.url} label="Copy the link" labelled />
        </div>
      )}
      {made !== null && <p className="mt-1 text-xs text-muted">It is shown only now.</p>}
      <div className="mt-4">
        <QueryView query={query}>
          {(all) => (
            <ul aria-label="Links" className="divide-y">
              {all.map(({ id, label: name, expiresAt }) => (
                <li key={id} className="flex items-center gap-3 py-2">
                  <span className="plaintext grow">{name ?? 'no label'}</span>
                  <span className="text-muted">
                    ends <Time at={expiresAt} />
                  </span>
                  <IconButton
                    small
                    label={`Revoke ${name ?? 'the link'}`}
                    icon={<Trash2 size={14} aria-hidden />}
                    onClick={() => void tell.whether(revoke(id), 'Revoked')}
                  />
                </li>
              ))}
              {all.length === 0 && <li className="py-2 text-muted">There are no links.</li>}
            </ul>
          )}
        </QueryView>
      </div>
    </Dialog>
  )
}
