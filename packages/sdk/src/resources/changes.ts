import type { Change } from '../generated/models.ts'
import { follow, type FollowOptions } from '../http/follow.ts'
import type { QueryOptions } from '../http/routes.ts'
import { type Scope, split } from '../http/scope.ts'

/** How to follow the changes of a workspace. */
export type ChangesOptions = QueryOptions<'GET /v1/changes'> & FollowOptions

/**
 * Yields changed objects as they change, forever, and `everything` when any of them may have changed: at the beginning,
 * after each reconnect, and when the service may have missed changes.
 */
export async function* followChanges(
  scope: Scope,
  { maxFruitless, onConnection, ...options }: ChangesOptions,
): AsyncGenerator<Change | 'everything', void, undefined> {
  const request = scope.request('GET /v1/changes', split(options).call)
  const how = { isLast: () => false, maxFruitless, onConnection }
  for await (const { event, data } of follow(scope.transport, request, how)) {
    if (event === 'change') yield JSON.parse(data) as Change
    else if (event === 'connected' || event === 'missed') yield 'everything'
  }
}
