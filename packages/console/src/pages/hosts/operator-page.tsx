import { Offshoot } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { type FormEvent, useMemo, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Check, Field, Input } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { TabLinks } from '../../ui/tabs.tsx'
import { useAttempt } from '../account/use-attempt.ts'
import { OperatorProvider } from './operator-context.ts'
import { forgetOperatorKey, operatorKey, takeOperatorKey } from './operator-key.ts'

const TABS = [
  { label: 'Hosts', to: '/hosts' },
  { label: 'Jobs', to: '/hosts/jobs' },
  { label: 'Workspaces', to: '/hosts/workspaces' },
  { label: 'Operators', to: '/hosts/operators' },
] as const

const clientWith = (apiKey: string) => new Offshoot({ baseUrl: location.origin, apiKey })

/** The frame of the pages for operators, who have keys of their own. */
export function OperatorPage() {
  const [key, setKey] = useState(operatorKey)
  const queries = useQueryClient()
  const api = useMemo(() => (key === null ? null : clientWith(key)), [key])
  const forget = () => {
    forgetOperatorKey()
    queries.removeQueries({ queryKey: ['operator'] })
    setKey(null)
  }
  return (
    <Page
      title="Hosts"
      description="The service itself: machines, jobs, workspaces and operators."
      actions={api !== null && <Button onClick={forget}>Forget the key</Button>}
    >
      {api === null ? (
        <KeyForm onKey={setKey} />
      ) : (
        <OperatorProvider value={api}>
          <TabLinks
            label="Parts of the service"
            tabs={TABS.map(({ label, to }) => ({ label, link: { to, activeOptions: { exact: to === '/hosts' } } }))}
          />
          <Outlet />
        </OperatorProvider>
      )}
    </Page>
  )
}

function KeyForm({ onKey }: { readonly onKey: (key: string) => void }) {
  const { error, isBusy, attempt } = useAttempt()
  const [typed, setTyped] = useState('')
  const [keep, setKeep] = useState(false)
  const open = (event: FormEvent) => {
    event.preventDefault()
    const key = typed.trim()
    void attempt(async () => {
      await clientWith(key).request('GET /v1/admin/orgs', { query: { limit: 1 } })
      takeOperatorKey(key, keep)
      onKey(key)
    })
  }
  return (
    <form onSubmit={open} className="flex max-w-lg flex-col gap-4 rounded-lg border bg-surface p-5">
      <p className="text-muted">
        These pages take the key of an operator. The first one is <code>operator_key</code> in{' '}
        <code>credentials.json</code>.
      </p>
      <Field label="Key of an operator" hint="It stays in this tab.">
        <Input type="password" value={typed} onValueChange={setTyped} autoComplete="off" required />
      </Field>
      <Check label="Keep it until this tab is closed" checked={keep} toggle={() => setKeep(!keep)} />
      {error !== null && <ErrorText error={error} />}
      <div>
        <Button type="submit" look="primary" busy={isBusy} disabled={typed.trim() === ''}>
          Open
        </Button>
      </div>
    </form>
  )
}
