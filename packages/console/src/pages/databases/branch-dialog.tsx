import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { CREATE_TIMEOUT_MS, nameOf } from './database-queries.ts'

interface BranchDialogProps {
  readonly database: { readonly id: string; readonly label: string | null }
  /** A backup to branch. Default: the present data. */
  readonly at?: { readonly id: string; readonly createdAt: string }
  readonly onClose: () => void
}

/** Makes a branch and opens it. */
export function BranchDialog({ database, at, onClose }: BranchDialogProps) {
  const api = useApi()
  const navigate = useNavigate()
  const [label, setLabel] = useState(`${database.label ?? database.id.slice(0, 8)} branch`)
  const branch = async () => {
    const name = label.trim()
    const made = await (
      await api.databases.get(database.id)
    ).branch({ ...(name !== '' && { label: name }), ...(at && { at: at.id }), timeoutMs: CREATE_TIMEOUT_MS })
    onClose()
    await navigate({ to: '/databases/$id', params: { id: made.id } })
  }
  const from = at === undefined ? 'this instant' : `the backup of ${new Date(at.createdAt).toLocaleString()}`
  return (
    <FormDialog
      open
      title={`Branch ${nameOf(database)}`}
      description={`Another database with all data of ${from}. Changes in one do not appear in the other.`}
      submit="Branch"
      leaves
      onSubmit={branch}
      onClose={onClose}
    >
      <Field label="Name">
        <Input value={label} onValueChange={setLabel} maxLength={128} autoFocus />
      </Field>
    </FormDialog>
  )
}
