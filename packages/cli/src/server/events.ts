import type { WorkspaceEvent } from '@offshoot/contract/workspace-event'
import type { Action } from '../frame/command.ts'
import { follow } from '../frame/follow.ts'
import { resolve } from '../frame/resolve.ts'
import { showEvent, showEvents } from './show-event.ts'

interface Options {
  readonly follow?: boolean
  readonly tail?: number
  readonly since?: string
  readonly type?: readonly string[]
  readonly sandbox?: string
}

const DEFAULT_TAIL = 100

export const run: Action<Options> = async (cli, { options }) => {
  const { follow: follows, since, type, sandbox, json = false } = options
  const api = await cli.api()
  const query = {
    since,
    tail: options.tail ?? (since === undefined ? DEFAULT_TAIL : undefined),
    type: type?.join(','),
    sandbox_id: sandbox === undefined ? undefined : await resolve(api, 'sandbox', sandbox),
  }
  if (!follows) return showEvents(cli, await api.request('GET /v1/events', { query, signal: cli.signal }), json)
  const events = follow(cli, (how) => api.follow('GET /v1/events', { query: { ...query, follow: true }, ...how }))
  for await (const { event, data } of events)
    if (event === 'ev') showEvent(cli, JSON.parse(data) as WorkspaceEvent, json)
}
