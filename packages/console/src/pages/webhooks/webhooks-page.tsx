import type { WebhookInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Webhook } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { eventsOf } from './webhook-form.ts'
import { WebhookDialog, type WebhookFields } from './webhook-dialog.tsx'
import { webhooksQuery } from './webhook-queries.ts'
import { WebhookState } from './webhook-state.tsx'

const COLUMNS: readonly Column<WebhookInfo>[] = [
  {
    title: 'Address',
    cell: ({ id, url, description }) => (
      <span className="flex min-w-0 flex-col">
        <Link to="/webhooks/$id" params={{ id }} className="plaintext font-medium">
          {url}
        </Link>
        {description !== null && <span className="plaintext text-xs text-muted">{description}</span>}
      </span>
    ),
  },
  { title: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    title: 'Events',
    wide: true,
    cell: ({ events }) => <span className="plaintext font-mono text-xs">{eventsOf(events)}</span>,
  },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** The addresses that get the events of the workspace. */
export function WebhooksPage() {
  const api = useApi()
  const queries = useQueryClient()
  const query = useQuery(webhooksQuery(api))
  const [isCreating, setCreating] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const create = async ({ description, ...fields }: WebhookFields) => {
    const made = await api.webhooks.create({ ...fields, ...(description !== '' && { description }) })
    setSecret(made.secret)
    await queries.invalidateQueries({ queryKey: ['webhook'] })
  }
  const button = (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      New webhook
    </Button>
  )
  return (
    <Page title="Webhooks" description="Events of the workspace, sent to your programs." actions={button}>
      <QueryView query={query}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Panel icon={<Webhook size={28} aria-hidden />} title="No webhooks yet">
              <p className="max-w-prose text-muted">
                A webhook sends a signed message for each event, and again until it arrives, for a day.
              </p>
              {button}
            </Panel>
          ) : (
            <Table label="Webhooks" columns={COLUMNS} rows={webhooks} idOf={({ id }) => id} />
          )
        }
      </QueryView>
      {isCreating && <WebhookDialog save={create} onClose={() => setCreating(false)} />}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Page>
  )
}
