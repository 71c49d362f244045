import type { NumberedEvent } from '@offshoot/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Badge, type Tone } from '../../../ui/badge.tsx'
import { ErrorPanel } from '../../../ui/error-panel.tsx'
import { Section } from '../../../ui/page.tsx'
import { Loading } from '../../../ui/query-view.tsx'
import { duration, Time } from '../../../ui/time.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'

const route = getRouteApi('/member/sandboxes/$id/timeline')

/** Events that are shown. */
const MAX_EVENTS = 1000

const TONES: Record<NumberedEvent['code'], Tone> = { ok: 'good', warn: 'warn', error: 'bad' }

/** What happened to the sandbox, as it happens. */
export function TimelinePage() {
  const { id } = route.useParams()
  return <Timeline key={id} />
}

function Timeline() {
  const { id } = route.useParams()
  const sandbox = useSandboxHandle(id)
  const [events, setEvents] = useState<readonly NumberedEvent[]>([])
  const [missing, setMissing] = useState(0)
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leave = new AbortController()
    const onGap = ({ from, to }: { readonly from: number; readonly to: number }) =>
      setMissing((before) => before + to - from)
    const follow = async () => {
      for await (const event of sandbox.events({ tail: MAX_EVENTS, signal: leave.signal, onGap }))
        setEvents((before) => [...before.filter(({ number }) => number !== event.number), event].slice(-MAX_EVENTS))
    }
    follow().catch((failure: unknown) => {
      if (!leave.signal.aborted) setError(failure)
    })
    return () => leave.abort()
  }, [sandbox, attempt])
  const again = () => {
    setError(null)
    setAttempt(attempt + 1)
  }
  if (error !== null) return <ErrorPanel error={error} retry={again} />
  if (events.length === 0) return <Loading />
  return (
    <Section title="Events, newest first">
      {missing > 0 && <p className="mb-3 rounded-md bg-warn-soft px-3 py-2 text-warn">{missing} events are missing.</p>}
      <ol className="flex flex-col">
        {events.toReversed().map((event, index) => {
          const before = events.at(-index - 2)
          return <Entry key={event.number} event={event} before={before} />
        })}
      </ol>
    </Section>
  )
}

interface EntryProps {
  readonly event: NumberedEvent
  readonly before: NumberedEvent | undefined
}

function Entry({ event: { ts, type, code, message, metadata }, before }: EntryProps) {
  const afterMs = before === undefined ? null : Date.parse(ts) - Date.parse(before.ts)
  const details = Object.entries(metadata).filter(([, value]) => value !== null && value !== '')
  return (
    <li className="grid gap-x-4 gap-y-1 border-l-2 py-2 pl-4 sm:grid-cols-[9rem_1fr]">
      <span className="text-muted">
        <Time at={ts} />
        {afterMs !== null && <span className="block text-xs">+{duration(Math.max(afterMs, 0))}</span>}
      </span>
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[code]}>{type}</Badge>
          <span className="plaintext">{message}</span>
        </span>
        {details.length > 0 && (
          <span className="plaintext mt-1 block font-mono text-xs text-muted">
            {details.map(([name, value]) => `${name}=${textOf(value)}`).join('  ')}
          </span>
        )}
      </span>
    </li>
  )
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
