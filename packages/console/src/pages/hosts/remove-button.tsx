import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { useTell } from '../../ui/toasts.tsx'
import type { Host } from './host-queries.ts'
import { useOperator } from './operator-context.ts'

/** Removes a host that has joined. The agent on control's own machine, which has no certificate, cannot be removed. */
export function RemoveButton({ host }: { readonly host: Host }) {
  const [isOpen, setOpen] = useState(false)
  if (!host.url.startsWith('https:')) return null
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        Remove
      </Button>
      {isOpen && <RemoveDialog host={host} onClose={() => setOpen(false)} />}
    </>
  )
}

function RemoveDialog({ host: { id, state }, onClose }: { readonly host: Host; readonly onClose: () => void }) {
  const api = useOperator()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const tell = useTell()
  const [reason, setReason] = useState('')
  const why = reason.trim()
  const remove = async () => {
    await api.request('DELETE /v1/admin/hosts/{id}', { path: { id }, query: why === '' ? {} : { reason: why } })
    tell.done('Removed')
    await navigate({ to: '/hosts' })
    await queries.invalidateQueries({ queryKey: ['operator', 'hosts'] })
  }
  return (
    <FormDialog
      open
      title="Remove this host?"
      description="Control trusts its certificate no more. The machine needs another token to join again."
      submit="Remove"
      look="danger"
      onSubmit={remove}
      leaves
      onClose={onClose}
    >
      {state !== 'joining' && (
        <Field
          label="Reason"
          hint="Needed if something is left on the host. It says that the machine is off for good: what is left there is lost, unless another host or the object store has it."
        >
          <Input value={reason} onValueChange={setReason} maxLength={500} />
        </Field>
      )}
    </FormDialog>
  )
}
