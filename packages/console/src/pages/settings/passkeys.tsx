import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { authRequest } from '../../session/token.ts'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { addPasskey } from '../account/passkeys.ts'
import { type Passkey, passkeysQuery } from './account-query.ts'

const nameOf = ({ name }: Passkey) => name || 'Passkey'

/** The passkeys of the user. */
export function Passkeys() {
  const query = useQuery(passkeysQuery)
  const queries = useQueryClient()
  const confirm = useConfirm()
  const [isAdding, setAdding] = useState(false)
  const [name, setName] = useState('')
  const refresh = () => queries.invalidateQueries({ queryKey: passkeysQuery.queryKey })
  const remove = (passkey: Passkey) =>
    confirm({
      title: 'Delete this passkey?',
      description: `"${nameOf(passkey)}" no longer signs you in.`,
      action: 'Delete',
      run: async () => {
        await authRequest('passkey/delete-passkey', { id: passkey.id })
        await refresh()
      },
    })
  const columns: readonly Column<Passkey>[] = [
    { title: 'Name', cell: (passkey) => <span className="plaintext">{nameOf(passkey)}</span> },
    { title: 'Added', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: 'Actions',
      right: true,
      cell: (passkey) => (
        <Button small look="danger" aria-label={`Delete ${nameOf(passkey)}`} onClick={() => remove(passkey)}>
          Delete
        </Button>
      ),
    },
  ]
  return (
    <Section title="Passkeys" actions={<Button onClick={() => setAdding(true)}>Add a passkey</Button>}>
      <QueryView query={query}>
        {(passkeys) =>
          passkeys.length === 0 ? (
            <p className="max-w-prose text-muted">
              None. A passkey signs you in with a fingerprint or a PIN of your device, without password and code.
            </p>
          ) : (
            <Table label="Passkeys" columns={columns} rows={passkeys} idOf={({ id }) => id} />
          )
        }
      </QueryView>
      {isAdding && (
        <FormDialog
          open
          title="Add a passkey"
          description="Your browser asks you to confirm it."
          submit="Add"
          onSubmit={async () => {
            await addPasskey(name.trim())
            setName('')
            await refresh()
          }}
          onClose={() => setAdding(false)}
        >
          <Field label="Name" hint="E.g. that of the device.">
            <Input value={name} onValueChange={setName} maxLength={100} autoFocus />
          </Field>
        </FormDialog>
      )}
    </Section>
  )
}
