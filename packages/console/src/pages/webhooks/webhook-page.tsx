import type { Webhook, WebhookInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Ellipsis, Send } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Facts, Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { Deliveries } from './deliveries.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { eventsOf } from './webhook-form.ts'
import { WebhookDialog } from './webhook-dialog.tsx'
import { webhookQuery } from './webhook-queries.ts'
import { WebhookState } from './webhook-state.tsx'

const route = getRouteApi('/member/webhooks/$id')

/** One webhook with its messages. */
export function WebhookPage() {
  const { id } = route.useParams()
  const query = useQuery(webhookQuery(useApi(), id))
  return (
    <QueryView query={query} ofPage>
      {(webhook) => <Shown webhook={webhook} />}
    </QueryView>
  )
}

function Shown({ webhook }: { readonly webhook: WebhookInfo }) {
  const { id, url, description, events, objects, createdAt, overlapUntil } = webhook
  return (
    <Page
      title={url}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <WebhookState webhook={webhook} /> <span className="plaintext">{description}</span>
        </span>
      }
      actions={<Actions webhook={webhook} />}
    >
      <Section title="About">
        <Facts
          facts={{
            Events: eventsOf(events),
            Objects: objects.length === 0 ? 'all' : objects.join(', '),
            Made: <Time at={createdAt} />,
            ...(overlapUntil !== null && { 'The old secret signs too until': <Time at={overlapUntil} /> }),
          }}
        />
      </Section>
      <Deliveries webhookId={id} />
    </Page>
  )
}

function Actions({ webhook }: { readonly webhook: WebhookInfo }) {
  const { id, enabled } = webhook
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const confirm = useConfirm()
  const tell = useTell()
  const [isChanging, setChanging] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const refresh = () =>
    queries.invalidateQueries({ predicate: ({ queryKey: [kind] }) => String(kind).startsWith('webhook') })
  const act = async (work: (handle: Webhook) => Promise<unknown>) => {
    await work(await api.webhooks.get(id))
    await refresh()
  }
  const rotate = () =>
    confirm({
      title: 'Make a new secret?',
      description: 'The old one signs too for a day, so that you can change the receiver without losing a message.',
      action: 'Make a new secret',
      run: () => act(async (handle) => setSecret((await handle.rotateSecret()).secret)),
    })
  const remove = () =>
    confirm({
      title: 'Delete this webhook?',
      description: 'The list of its messages is deleted too. Messages that wait are not sent.',
      action: 'Delete',
      run: async () => {
        await api.webhooks.delete(id)
        await navigate({ to: '/webhooks' })
        await queries.invalidateQueries({ queryKey: ['webhook', 'list'] })
      },
    })
  return (
    <>
      <Button
        icon={<Send size={15} aria-hidden />}
        disabled={!enabled}
        onClick={() =>
          void tell.whether(
            act(async (handle) => handle.test()),
            'A test message is on its way',
          )
        }
      >
        Test
      </Button>
      <Button
        onClick={() =>
          void tell.whether(
            act(async (handle) => handle.update({ enabled: !enabled })),
            enabled ? 'Disabled' : 'Enabled',
          )
        }
      >
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <Menu
        trigger={<IconButton look="plain" label="More actions" icon={<Ellipsis size={15} aria-hidden />} />}
        groups={[
          [
            { label: 'Change', run: () => setChanging(true) },
            { label: 'New secret', run: rotate },
          ],
          [{ label: 'Delete', danger: true, run: remove }],
        ]}
      />
      {isChanging && (
        <WebhookDialog
          webhook={webhook}
          save={async (fields) => act(async (handle) => handle.update(fields))}
          onClose={() => setChanging(false)}
        />
      )}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  )
}
