import type { CreatedKey } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Choice, Field, Input } from '../../ui/field.tsx'
import { ACCESSES, isScope, RESOURCES, type Scope } from './scopes.ts'

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In a week' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

interface CreateKeyDialogProps {
  readonly onCreated: (created: CreatedKey) => void
  readonly onClose: () => void
}

export function CreateKeyDialog({ onCreated, onClose }: CreateKeyDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [days, setDays] = useState('')
  const [scopes, setScopes] = useState<ReadonlySet<Scope> | null>(null)
  const create = async () => {
    const created = await api.keys.create({
      name: name.trim(),
      ...(days !== '' && { expiresInDays: Number(days) }),
      ...(scopes !== null && { scopes: [...scopes] }),
    })
    onCreated(created)
    await queries.invalidateQueries({ queryKey: ['key'] })
  }
  return (
    <FormDialog
      open
      title="New API key"
      submit="Create"
      canSubmit={name.trim() !== '' && scopes?.size !== 0}
      onSubmit={create}
      onClose={onClose}
    >
      <Field label="Name" hint="Says where it is used.">
        <Input value={name} onValueChange={setName} maxLength={100} autoFocus required />
      </Field>
      <Field label="Ends">
        <Choice options={EXPIRIES} value={days} onChoose={setDays} />
      </Field>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-xs font-medium">Opens</legend>
        <label className="flex items-center gap-2">
          <input type="radio" name="opens" checked={scopes === null} onChange={() => setScopes(null)} />
          Everything that your role allows
        </label>
        <label className="flex items-center gap-2">
          <input type="radio" name="opens" checked={scopes !== null} onChange={() => setScopes(new Set())} />
          Only what is chosen here
        </label>
        {scopes !== null && <Scopes chosen={scopes} onChange={setScopes} />}
      </fieldset>
    </FormDialog>
  )
}

interface ScopesProps {
  readonly chosen: ReadonlySet<Scope>
  readonly onChange: (chosen: ReadonlySet<Scope>) => void
}

function Scopes({ chosen, onChange }: ScopesProps) {
  const toggle = (scope: Scope) => {
    const next = new Set(chosen)
    if (!next.delete(scope)) next.add(scope)
    onChange(next)
  }
  return (
    <div className="grid grid-cols-[1fr_auto_auto] gap-x-5 gap-y-1.5 rounded-md border p-3">
      {RESOURCES.map((resource) => (
        <div key={resource} className="contents">
          <span className="capitalize">{resource}</span>
          {ACCESSES.map((access) =>
            isScope(resource, access) ? (
              <label key={access} className="flex items-center gap-1.5 text-muted">
                <input
                  type="checkbox"
                  aria-label={`${resource}: ${access}`}
                  checked={chosen.has(`${resource}:${access}`)}
                  onChange={() => toggle(`${resource}:${access}`)}
                />
                {access}
              </label>
            ) : (
              <span key={access} />
            ),
          )}
        </div>
      ))}
    </div>
  )
}
