import type { Event } from '@offshoot/contract/event'
import { type Action, operand } from '../frame/command.ts'
import { follow } from '../frame/follow.ts'
import { resolve } from '../frame/resolve.ts'
import { showEvent, showEvents } from '../server/show-event.ts'

interface Options {
  readonly follow?: boolean
  readonly tail?: number
  readonly since?: string
}

export const run: Action<Options> = async (cli, line) => {
  const { follow: follows, tail, since, json = false } = line.options
  const api = await cli.api()
  const path = { id: await resolve(api, 'sandbox', operand(line, 0)) }
  const query = { tail, since }
  if (!follows)
    return showEvents(
      cli,
      await api.request('GET /v1/sandboxes/{id}/events', { path, query, signal: cli.signal }),
      json,
    )
  const events = follow(cli, (how) =>
    api.follow('GET /v1/sandboxes/{id}/events', { path, query: { ...query, follow: true }, ...how }),
  )
  for await (const { event, data } of events) if (event === 'ev') showEvent(cli, JSON.parse(data) as Event, json)
}
