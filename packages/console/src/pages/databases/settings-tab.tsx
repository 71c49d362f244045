import type { DatabaseInfo } from '@offshoot/sdk'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Check, Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { databaseQuery } from './database-queries.ts'

const route = getRouteApi('/member/databases/$id')

/** The name, the sleep and the disk. */
export function SettingsTab() {
  const { id } = route.useParams()
  const { data: database } = useSuspenseQuery(databaseQuery(useApi(), id))
  return <Form key={id} database={database} />
}

function Form({ database }: { readonly database: DatabaseInfo }) {
  const api = useApi()
  const queries = useQueryClient()
  const tell = useTell()
  const [label, setLabel] = useState(database.label ?? '')
  const [idle, setIdle] = useState(String(database.idleTimeoutSeconds))
  const [isAlwaysOn, setAlwaysOn] = useState(database.alwaysOn)
  const [disk, setDisk] = useState(String(database.diskMb))
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      const handle = await api.databases.get(database.id)
      await handle.update({
        ...(label.trim() !== '' && { label: label.trim() }),
        idleTimeoutSeconds: Number(idle),
        alwaysOn: isAlwaysOn,
        ...(Number(disk) !== database.diskMb && { diskMb: Number(disk) }),
      })
      queries.setQueryData(databaseQuery(api, database.id).queryKey, handle.info)
      await queries.invalidateQueries({ queryKey: ['database', 'list'] })
      tell.done('Saved')
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Section title="Settings">
      <form onSubmit={(event) => void save(event)} className="flex max-w-xl flex-col gap-4">
        <Field label="Name">
          <Input value={label} onValueChange={setLabel} maxLength={128} />
        </Field>
        <Field label="Seconds without a connection before it sleeps" hint="60 to 2678400. A connection wakes it.">
          <Input value={idle} onValueChange={setIdle} inputMode="numeric" disabled={isAlwaysOn} />
        </Field>
        <Check label="Never sleeps" checked={isAlwaysOn} toggle={() => setAlwaysOn(!isAlwaysOn)} />
        <Field label="Disk in MiB" hint="8192 to 65536. It can only grow, also while the database is in use.">
          <Input value={disk} onValueChange={setDisk} inputMode="numeric" />
        </Field>
        {error !== null && <ErrorText error={error} />}
        <div>
          <Button type="submit" look="primary" busy={isBusy}>
            Save
          </Button>
        </div>
      </form>
    </Section>
  )
}
