import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Area, Field, Input } from '../../ui/field.tsx'
import type { Host } from './host-queries.ts'
import { labelLines, labelsIn } from './host-labels.ts'
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
  const [text, setText] = useState(labelLines(host.labels).join('\n'))
  const [zone, setZone] = useState(host.zone ?? '')
  const labels = labelsIn(text)
  return (
    <FormDialog
      open
      title="Labels and zone"
      description="Workspaces that require them get what is new on such hosts only. What runs here goes on."
      submit="Save"
      canSubmit={labels !== null}
      onSubmit={async () => {
        const body = { labels, zone: zone.trim() === '' ? null : zone.trim() }
        await api.request('PATCH /v1/admin/hosts/{id}', { path: { id: host.id }, body })
        await queries.invalidateQueries({ queryKey: ['operator', 'hosts'] })
      }}
      onClose={onClose}
    >
      <Field
        label="Labels"
        hint="key=value, one on each line."
        error={labels === null ? 'Each line must be key=value, and each key may be there once.' : null}
      >
        <Area value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} spellCheck={false} />
      </Field>
      <Field label="Zone" hint="The machines that fail together with this one, such as those of a rack.">
        <Input value={zone} onValueChange={setZone} maxLength={63} spellCheck={false} />
      </Field>
    </FormDialog>
  )
}
