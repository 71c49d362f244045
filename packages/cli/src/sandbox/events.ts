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
  const path = `/v1/sandboxes/${await resolve(api, 'sandbox', operand(line, 0))}/events`
  if (!follows) return showEvents(cli, await api.get<Event[]>(path, { tail, since }), json)
  for await (const { event, data } of follow(cli, path, { tail, since, follow: true }))
    if (event === 'ev') showEvent(cli, JSON.parse(data) as Event, json)
}
