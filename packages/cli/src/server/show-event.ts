import type { Event } from '@offshoot/contract/event'
import type { Cli } from '../frame/cli.ts'
import type { Style } from '../frame/output.ts'

const STYLES: Readonly<Record<Event['code'], Style>> = { ok: 'green', warn: 'yellow', error: 'red' }

/** A list of events, oldest first. */
export function showEvents(cli: Cli, events: readonly Event[], asJson: boolean): void {
  if (asJson) cli.out.json(events)
  else for (const event of events) showEvent(cli, event, false)
}

/** One event on a line; as JSON, one object on a line. */
export function showEvent({ out }: Cli, event: Event, asJson: boolean): void {
  if (asJson) return out.line(JSON.stringify(event))
  const { ts, sandbox_id: id, type, code, message } = event
  out.line([out.style('dim', ts), id?.slice(0, 8) ?? '', out.style(STYLES[code], type), message].join('  '))
}
