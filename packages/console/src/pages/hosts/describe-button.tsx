import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import type { Host } from './host-queries.ts'
import { useLabelFields } from './label-fields.tsx'
import { useOperator } from './operator-context.ts'

/** Changes the labels and the zone of a host. */
export function DescribeButton({ host }: { readonly host: Host }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Labels and zone</Button>
      {isOpen && <DescribeDialog host={host} onClose={() => setOpen(false)} />}
    </>
  )
}

function DescribeDialog({ host, onClose }: { readonly host: Host; readonly onClose: () => void }) {
  const api = useOperator()
  const queries = useQueryClient()
  const { labels, zone, fields } = useLabelFields(
    host,
    'The machines that fail together with this one, such as those of a rack.',
  )
  return (
    <FormDialog
      open
      title="Labels and zone"
      description="Workspaces that require them get what is new on such hosts only. What runs here goes on."
      submit="Save"
      canSubmit={labels !== null}
      onSubmit={async () => {
        await api.request('PATCH /v1/admin/hosts/{id}', { path: { id: host.id }, body: { labels, zone } })
        await queries.invalidateQueries({ queryKey: ['operator', 'hosts'] })
      }}
      onClose={onClose}
    >
      {fields}
    </FormDialog>
  )
}
