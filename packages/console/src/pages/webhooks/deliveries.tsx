import type { RouteAnswer } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { usePages } from '../../live/use-pages.ts'
import { useApi } from '../../session/session.tsx'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorPanel } from '../../ui/error-panel.tsx'
import { INPUT_CLASSES } from '../../ui/field.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { Loading, QueryView } from '../../ui/query-view.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { duration, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'

type Delivery = RouteAnswer<'GET /v1/webhooks/{id}/deliveries'>[number]
type Details = RouteAnswer<'GET /v1/webhooks/{id}/deliveries/{delivery_id}'>
type Attempt = Details['log'][number]
type Status = Delivery['status']

const TONES: Record<Status, Tone> = { pending: 'accent', delivered: 'good', failed: 'bad' }
const STATUSES = Object.keys(TONES) as readonly Status[]

/** Milliseconds back to which "send failed ones again" goes: as long as the service keeps them. */
const KEPT_MS = 30 * 24 * 3_600_000

/** The messages of a webhook, newest first. */
export function Deliveries({ webhookId: id }: { readonly webhookId: string }) {
  const api = useApi()
  const queries = useQueryClient()
  const tell = useTell()
  const [status, setStatus] = useState<Status | ''>('')
  const [shown, setShown] = useState<string | null>(null)
  const { query, rows, more } = usePages(
    api,
    'GET /v1/webhooks/{id}/deliveries',
    ['webhook_delivery', 'list', id, status],
    {
      path: { id },
      query: status === '' ? {} : { status },
    },
  )
  const redeliverFailed = async () => {
    const since = new Date(Date.now() - KEPT_MS).toISOString()
    const count = await (await api.webhooks.get(id)).redeliver({ since })
    await queries.invalidateQueries({ queryKey: ['webhook_delivery'] })
    tell.done(`${count} messages are sent again`)
  }
  const columns: readonly Column<Delivery>[] = [
    {
      title: 'Event',
      cell: ({ id: deliveryId, type }) => (
        <button type="button" className="plaintext cursor-pointer text-accent" onClick={() => setShown(deliveryId)}>
          {type}
        </button>
      ),
    },
    { title: 'State', cell: (delivery) => <Badge tone={TONES[delivery.status]}>{delivery.status}</Badge> },
    { title: 'Answer', cell: (delivery) => answerOf(delivery) },
    { title: 'Attempts', wide: true, right: true, cell: ({ attempts }) => attempts },
    { title: 'Made', wide: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Next attempt',
      wide: true,
      cell: ({ next_attempt_at: at }) => (at === null ? '' : <Time at={at} />),
    },
  ]
  return (
    <Section
      title="Messages"
      actions={
        <>
          <select
            aria-label="State"
            value={status}
            onChange={({ currentTarget }) => setStatus(currentTarget.value as Status | '')}
            className={`${INPUT_CLASSES} !w-auto`}
          >
            <option value="">State: any</option>
            {STATUSES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <Button onClick={() => void tell.whether(redeliverFailed())}>Send failed ones again</Button>
          <IconButton
            look="plain"
            label="Refresh"
            icon={<RefreshCw size={15} aria-hidden />}
            busy={query.isRefetching}
            onClick={() => void query.refetch()}
          />
        </>
      }
    >
      {rows === undefined ? (
        query.isError ? (
          <ErrorPanel error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading />
        )
      ) : rows.length === 0 ? (
        <p className="text-muted">None{status === '' ? ' yet. Send a test message to see one.' : '.'}</p>
      ) : (
        <Table label="Messages" columns={columns} rows={rows} idOf={(delivery) => delivery.id} onEnd={more} />
      )}
      {shown !== null && <DeliveryDialog webhookId={id} deliveryId={shown} onClose={() => setShown(null)} />}
    </Section>
  )
}

function answerOf({ response_status: status, error }: Pick<Delivery, 'response_status' | 'error'>): string {
  return status === null ? (error ?? 'none yet') : String(status)
}

interface DeliveryDialogProps {
  readonly webhookId: string
  readonly deliveryId: string
  readonly onClose: () => void
}

function DeliveryDialog({ webhookId, deliveryId, onClose }: DeliveryDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const tell = useTell()
  const path = { id: webhookId, delivery_id: deliveryId }
  const query = useQuery({
    queryKey: ['webhook_delivery', deliveryId],
    queryFn: async ({ signal }) => api.request('GET /v1/webhooks/{id}/deliveries/{delivery_id}', { path, signal }),
  })
  const redeliver = async () => {
    await api.request('POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver', { path })
    await queries.invalidateQueries({ queryKey: ['webhook_delivery'] })
  }
  return (
    <Dialog open wide title="Message" onClose={onClose}>
      <QueryView query={query}>
        {(details) => (
          <div className="flex min-w-0 flex-col gap-4">
            <Facts
              facts={{
                Id: <span className="font-mono text-xs">{details.id}</span>,
                Event: details.type,
                State: <Badge tone={TONES[details.status]}>{details.status}</Badge>,
              }}
            />
            <Snippet label="Body of the request" text={JSON.stringify(details.payload, null, 2)} />
            {details.log.map((attempt) => (
              <AttemptView key={attempt.at} attempt={attempt} />
            ))}
            <div className="flex justify-end gap-2">
              <Button onClick={() => void query.refetch()}>Refresh</Button>
              <Button
                look="primary"
                disabled={details.status === 'pending'}
                onClick={() => void tell.whether(redeliver(), 'The message is sent again')}
              >
                Send again
              </Button>
            </div>
          </div>
        )}
      </QueryView>
    </Dialog>
  )
}

function AttemptView({ attempt }: { readonly attempt: Attempt }) {
  const label = `${new Date(attempt.at).toISOString()}: ${answerOf(attempt)} after ${duration(attempt.duration_ms)}`
  return <Snippet label={label} text={attempt.response ?? attempt.error ?? 'an empty answer'} />
}
