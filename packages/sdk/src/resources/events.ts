import type { WorkspaceEvent } from '../generated/models.ts'
import { follow } from '../http/follow.ts'
import type { List } from '../http/list.ts'
import { fromWire } from '../http/rename.ts'
import type { QueryOptions } from '../http/routes.ts'
import { type Scope, split } from '../http/scope.ts'
import type { QueryValue } from '../http/transport.ts'

/** A type, or a group such as `deploy.*`. */
type TypeFilter = WorkspaceEvent['type'] | `${string}.*`

/** Which events. All filters must match. */
export interface WorkspaceEventsOptions extends QueryOptions<'GET /v1/events', 'cursor' | 'follow' | 'type' | 'limit'> {
  readonly type?: TypeFilter | readonly TypeFilter[]
}

/** Most events that the service returns as a tail. */
const LONGEST_TAIL = 1_000

/** The events of 90 days, newest first; with `since` or `tail` in the order of their arrival. */
export function listEvents(
  scope: Scope,
  { type = [], ...options }: WorkspaceEventsOptions & { readonly limit?: number },
): List<WorkspaceEvent> {
  const types = [type].flat().join()
  return scope.list('GET /v1/events', { ...options, ...(types !== '' && { type: types }) })
}

/**
 * Yields events as they arrive, forever. Without `since`, the first position comes from the latest event, so that a
 * connection which breaks before it has brought any event loses none either.
 */
export async function* followEvents(
  scope: Scope,
  options: WorkspaceEventsOptions,
): AsyncGenerator<WorkspaceEvent, void, undefined> {
  const { since, tail, type = [], ...rest } = options
  const { call, fields } = split(rest)
  let from: { since?: string | undefined; tail?: number | undefined } = { since, tail }
  if (since === undefined) {
    const latest = await listEvents(scope, { ...options, tail: tail === 0 ? 1 : (tail ?? DEFAULT_TAIL) }).all()
    if (tail !== 0) yield* latest
    const last = latest.at(-1)
    from = last === undefined ? { tail: LONGEST_TAIL } : { since: last.id }
  }
  const query = { ...(fields as Record<string, QueryValue>), ...from, type: [type].flat().join() || null, follow: true }
  const request = scope.request('GET /v1/events', { ...call, query })
  for await (const { data } of follow(scope.transport, request, { isLast: () => false })) {
    yield fromWire<WorkspaceEvent>(JSON.parse(data))
  }
}

/** As the service does for `follow`. */
const DEFAULT_TAIL = 100
