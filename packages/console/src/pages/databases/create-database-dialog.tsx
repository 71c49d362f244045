import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Choice, Field, Input } from '../../ui/field.tsx'
import { CREATE_TIMEOUT_MS } from './database-queries.ts'

const SIZES = [
  { value: '1g', label: '1 GiB of memory' },
  { value: '4g', label: '4 GiB of memory' },
  { value: '16g', label: '16 GiB of memory' },
] as const
type Size = (typeof SIZES)[number]['value']

/** Makes a database and opens it. */
export function CreateDatabaseDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useApi()
  const navigate = useNavigate()
  const [label, setLabel] = useState('')
  const [size, setSize] = useState<Size>('1g')
  const create = async () => {
    const name = label.trim()
    const database = await api.databases.create({
      size,
      ...(name !== '' && { label: name }),
      timeoutMs: CREATE_TIMEOUT_MS,
    })
    await navigate({ to: '/databases/$id', params: { id: database.id } })
  }
  return (
    <FormDialog title="New database" open submit="Create" leaves onSubmit={create} onClose={onClose}>
      <Field label="Name" hint="For people. It need not be unique.">
        <Input value={label} onValueChange={setLabel} maxLength={128} autoFocus />
      </Field>
      <Field label="Size" hint="It cannot be changed later. The disk can grow.">
        <Choice options={SIZES} value={size} onChoose={(value) => setSize(value as Size)} />
      </Field>
    </FormDialog>
  )
}
