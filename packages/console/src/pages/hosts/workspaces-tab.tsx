import type { RouteAnswer } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePages } from '../../live/use-pages.ts'
import { Badge } from '../../ui/badge.tsx'
import { IconButton } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorPanel } from '../../ui/error-panel.tsx'
import { Choice, Field, Input, INPUT_CLASSES } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { Ellipsis } from 'lucide-react'
import { Labels } from './labels.tsx'
import { useOperator } from './operator-context.ts'
import { PlacementDialog } from './placement-dialog.tsx'

type Workspace = RouteAnswer<'GET /v1/admin/orgs'>[number]
type Action = 'suspend' | 'unsuspend' | 'credit' | 'plan'
type Chosen = Action | 'placement'

const PLANS: readonly Workspace['plan'][] = ['free', 'pro', 'team', 'enterprise', 'self-hosted']

/** All workspaces of the service. */
export function WorkspacesTab() {
  const api = useOperator()
  const [words, setWords] = useState('')
  const [chosen, setChosen] = useState<{ readonly workspace: Workspace; readonly action: Chosen } | null>(null)
  const { query, rows, more } = usePages(api, 'GET /v1/admin/orgs', ['operator', 'orgs', words], {
    query: words === '' ? {} : { q: words },
  })
  const columns: readonly Column<Workspace>[] = [
    {
      title: 'Workspace',
      cell: ({ name, id, suspended, placement }) => (
        <span className="flex min-w-0 flex-col">
          <span className="plaintext font-medium">
            {name} {suspended && <Badge tone="bad">suspended</Badge>}
          </span>
          <span className="font-mono text-xs break-all text-muted">{id}</span>
          <Labels {...placement} />
        </span>
      ),
    },
    { title: 'Plan', cell: ({ plan }) => plan },
    { title: 'Owners', wide: true, cell: ({ owners }) => <span className="plaintext">{owners.join(', ')}</span> },
    { title: 'Made', wide: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      right: true,
      cell: (workspace) => (
        <Menu
          trigger={
            <IconButton small label={`Actions for ${workspace.name}`} icon={<Ellipsis size={15} aria-hidden />} />
          }
          groups={[
            [
              { label: 'Give credit', run: () => setChosen({ workspace, action: 'credit' }) },
              { label: 'Set the plan', run: () => setChosen({ workspace, action: 'plan' }) },
              { label: 'Choose its hosts', run: () => setChosen({ workspace, action: 'placement' }) },
            ],
            [
              workspace.suspended
                ? { label: 'End the suspension', run: () => setChosen({ workspace, action: 'unsuspend' }) }
                : { label: 'Suspend', danger: true, run: () => setChosen({ workspace, action: 'suspend' }) },
            ],
          ]}
        />
      ),
    },
  ]
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setWords((new FormData(event.currentTarget).get('q') as string).trim())
        }}
      >
        <input
          type="search"
          name="q"
          aria-label="Find workspaces"
          placeholder="Name, id, or an owner's address"
          className={`${INPUT_CLASSES} !w-80`}
        />
      </form>
      {rows === undefined ? (
        query.isError ? (
          <ErrorPanel error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading />
        )
      ) : rows.length === 0 ? (
        <p className="text-muted">No workspace fits.</p>
      ) : (
        <Table label="Workspaces" columns={columns} rows={rows} idOf={({ id }) => id} onEnd={more} />
      )}
      {chosen !== null && <ChosenDialog {...chosen} onClose={() => setChosen(null)} />}
    </>
  )
}

interface ChosenDialogProps {
  readonly workspace: Workspace
  readonly action: Chosen
  readonly onClose: () => void
}

function ChosenDialog({ action, ...rest }: ChosenDialogProps) {
  return action === 'placement' ? <PlacementDialog {...rest} /> : <ChangeDialog action={action} {...rest} />
}

const TITLES: Record<Action, string> = {
  suspend: 'Suspend',
  unsuspend: 'End the suspension of',
  credit: 'Give credit to',
  plan: 'Set the plan of',
}

interface ChangeDialogProps extends ChosenDialogProps {
  readonly action: Action
}

function ChangeDialog({ workspace: { id, name, plan: oldPlan }, action, onClose }: ChangeDialogProps) {
  const api = useOperator()
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  const [usd, setUsd] = useState('')
  const [plan, setPlan] = useState(oldPlan)
  const path = { id }
  const run = {
    suspend: () => api.request('POST /v1/admin/orgs/{id}/suspend', { path, body: { reason } }),
    unsuspend: () => api.request('POST /v1/admin/orgs/{id}/unsuspend', { path, body: { reason } }),
    credit: () => api.request('POST /v1/admin/orgs/{id}/credit', { path, body: { credit_usd: Number(usd), reason } }),
    plan: () => api.request('POST /v1/admin/orgs/{id}/plan', { path, body: { plan } }),
  } as const
  const isComplete = action === 'plan' || (reason.trim() !== '' && (action !== 'credit' || Number(usd) > 0))
  return (
    <FormDialog
      open
      title={`${TITLES[action]} ${name}`}
      description={
        action === 'suspend'
          ? 'It can start nothing new. What runs keeps running, and members may delete it.'
          : undefined
      }
      submit={action === 'suspend' ? 'Suspend' : 'Save'}
      look={action === 'suspend' ? 'danger' : 'primary'}
      canSubmit={isComplete}
      onSubmit={async () => {
        await run[action]()
        await queries.invalidateQueries({ queryKey: ['operator', 'orgs'] })
      }}
      onClose={onClose}
    >
      {action === 'credit' && (
        <Field label="US dollars" hint="For this month.">
          <Input value={usd} onValueChange={setUsd} inputMode="decimal" autoFocus />
        </Field>
      )}
      {action === 'plan' ? (
        <Field label="Plan">
          <Choice options={PLANS} value={plan} onChoose={(value) => setPlan(value as Workspace['plan'])} />
        </Field>
      ) : (
        <Field label="Reason" hint="It is in the audit log of the workspace.">
          <Input value={reason} onValueChange={setReason} maxLength={200} />
        </Field>
      )}
    </FormDialog>
  )
}
