import type { RouteAnswer } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { FormDialog } from '../../ui/dialog.tsx'
import { useLabelFields } from './label-fields.tsx'
import { useOperator } from './operator-context.ts'

type Workspace = RouteAnswer<'GET /v1/admin/orgs'>[number]

/** Here an operator sets on which hosts control places what is new in a workspace. */
export function PlacementDialog({
  workspace: { id, name, placement },
  onClose,
}: {
  readonly workspace: Workspace
  readonly onClose: () => void
}) {
  const api = useOperator()
  const queries = useQueryClient()
  const { labels, zone, fields } = useLabelFields(placement, 'Empty: any zone.')
  const save = async () => {
    const body = { ...(labels !== null && { labels }), ...(zone !== null && { zone }) }
    await api.request('POST /v1/admin/orgs/{id}/placement', { path: { id }, body })
    await queries.invalidateQueries({ queryKey: ['operator', 'orgs'] })
  }
  return (
    <FormDialog
      open
      title={`Hosts of ${name}`}
      description="Only hosts with all of this get what is new in the workspace. What it has stays where it is."
      submit="Save"
      canSubmit={labels !== null}
      onSubmit={save}
      onClose={onClose}
    >
      {fields}
    </FormDialog>
  )
}
