import type { RouteAnswer } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog, OnceDialog } from '../../ui/dialog.tsx'
import { Choice, Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useOperator } from './operator-context.ts'

type Operator = RouteAnswer<'GET /v1/admin/operators'>[number]
type Key = RouteAnswer<'GET /v1/admin/operators/{id}/keys'>[number]
type Role = Operator['role']

const ROLES: readonly Role[] = ['viewer', 'operator', 'owner']

/** The people who run the service, and their keys. */
export function OperatorsTab() {
  const api = useOperator()
  const query = useQuery({
    queryKey: ['operator', 'operators'],
    queryFn: async ({ signal }) => api.list('GET /v1/admin/operators', { signal }).all(),
    staleTime: 0,
  })
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <div className="flex justify-end">
        <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
          Add an operator
        </Button>
      </div>
      <QueryView query={query}>
        {(operators) => operators.map((operator) => <Keys key={operator.id} operator={operator} />)}
      </QueryView>
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </>
  )
}

function Keys({ operator: { id, name, role } }: { readonly operator: Operator }) {
  const api = useOperator()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<string | null>(null)
  const query = useQuery({
    queryKey: ['operator', 'keys', id],
    queryFn: async ({ signal }) => api.list('GET /v1/admin/operators/{id}/keys', { path: { id }, signal }).all(),
    staleTime: 0,
  })
  const refresh = () => queries.invalidateQueries({ queryKey: ['operator'] })
  const revoke = ({ prefix, name: keyName }: Key) =>
    confirm({
      title: 'Revoke this key?',
      description: `"${keyName}" of ${name} opens nothing any more.`,
      action: 'Revoke',
      run: async () => {
        await api.request('DELETE /v1/admin/operators/{id}/keys/{prefix}', { path: { id, prefix } })
        await refresh()
      },
    })
  const remove = () =>
    confirm({
      title: `Remove ${name}?`,
      description: 'All keys of this operator are revoked.',
      action: 'Remove',
      run: async () => {
        await api.request('DELETE /v1/admin/operators/{id}', { path: { id } })
        await refresh()
      },
    })
  const columns: readonly Column<Key>[] = [
    {
      title: 'Key',
      cell: ({ prefix, name: keyName }) => (
        <span className="plaintext">
          {keyName} <span className="font-mono text-xs text-muted">{prefix}…</span>
        </span>
      ),
    },
    { title: 'Last used', wide: true, cell: ({ last_used_at: at }) => (at === null ? 'never' : <Time at={at} />) },
    { title: 'Ends', wide: true, cell: ({ expires_at: at }) => (at === null ? 'never' : <Time at={at} />) },
    {
      title: 'Actions',
      right: true,
      cell: (key) => (
        <Button small look="danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
          Revoke
        </Button>
      ),
    },
  ]
  return (
    <Section
      title={`${name} (${role})`}
      actions={
        <>
          <Button small onClick={() => setMaking(true)}>
            New key
          </Button>
          <Button small look="danger" aria-label={`Remove ${name}`} onClick={remove}>
            Remove
          </Button>
        </>
      }
    >
      <QueryView query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <p className="text-muted">No keys.</p>
          ) : (
            <Table label={`Keys of ${name}`} columns={columns} rows={keys} idOf={({ prefix }) => prefix} />
          )
        }
      </QueryView>
      {isMaking && <KeyDialog operatorId={id} onMade={setMade} onClose={() => setMaking(false)} />}
      {made !== null && (
        <OnceDialog
          title={`Key of ${name}`}
          description="Copy it now: it is shown only here."
          onClose={() => setMade(null)}
        >
          <Snippet label="Key" text={made} />
        </OnceDialog>
      )}
    </Section>
  )
}

interface KeyDialogProps {
  readonly operatorId: string
  readonly onMade: (key: string) => void
  readonly onClose: () => void
}

function KeyDialog({ operatorId: id, onMade, onClose }: KeyDialogProps) {
  const api = useOperator()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [days, setDays] = useState('')
  const make = async () => {
    const body = { name: name.trim(), ...(days.trim() !== '' && { expires_in_days: Number(days) }) }
    const { key } = await api.request('POST /v1/admin/operators/{id}/keys', { path: { id }, body })
    onMade(key)
    await queries.invalidateQueries({ queryKey: ['operator', 'keys', id] })
  }
  return (
    <FormDialog
      open
      title="New key of an operator"
      submit="Create"
      canSubmit={name.trim() !== ''}
      onSubmit={make}
      onClose={onClose}
    >
      <Field label="Name" hint="Says where it is used.">
        <Input value={name} onValueChange={setName} maxLength={100} autoFocus required />
      </Field>
      <Field label="Ends after days" hint="Empty: never.">
        <Input value={days} onValueChange={setDays} inputMode="numeric" />
      </Field>
    </FormDialog>
  )
}

function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useOperator()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  return (
    <FormDialog
      open
      title="Add an operator"
      description="A viewer reads everything, an operator also changes workspaces and hosts, an owner also operators."
      submit="Add"
      canSubmit={name.trim() !== ''}
      onSubmit={async () => {
        await api.request('POST /v1/admin/operators', { body: { name: name.trim(), role } })
        await queries.invalidateQueries({ queryKey: ['operator', 'operators'] })
      }}
      onClose={onClose}
    >
      <Field label="Name">
        <Input value={name} onValueChange={setName} maxLength={100} autoFocus required />
      </Field>
      <Field label="Role">
        <Choice options={ROLES} value={role} onChoose={(value) => setRole(value as Role)} />
      </Field>
    </FormDialog>
  )
}
