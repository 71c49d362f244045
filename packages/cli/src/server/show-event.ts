import type { Event } from '@offshoot/contract/event'
import type { WorkspaceEvent } from '@offshoot/contract/workspace-event'
import type { Cli } from '../frame/cli.ts'
import { printable, type Style } from '../frame/output.ts'

const STYLES: Readonly<Record<Event['code'], Style>> = { ok: 'green', warn: 'yellow', error: 'red' }

/** A list of events, oldest first. */
export function showEvents(cli: Cli, events: readonly (Event | WorkspaceEvent)[], asJson: boolean): void {
  if (asJson) cli.out.json(events)
  else for (const event of events) showEvent(cli, event, false)
}

/** One event on a line; as JSON, one object on a line. */
export function showEvent({ out }: Cli, event: Event | WorkspaceEvent, asJson: boolean): void {
  if (asJson) return out.line(JSON.stringify(event))
  const { ts, type, code, message } = event
  const id = ('object' in event ? event.object.id : event.sandbox_id) ?? ''
  out.line([out.style('dim', ts), id.slice(0, 8), out.style(STYLES[code], type), printable(message)].join('  '))
}
