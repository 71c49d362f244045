import type { SandboxPlace } from '../sandbox-places.ts'
import type { RouteDocs } from '../../platform/http/route-docs.ts'

/** One operation that a sandbox's agent answers; a line of `sandboxes/proxied-routes.ts`. */
export interface ProxiedRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Of the public API and of the agent alike; `:id` is the sandbox. */
  readonly url: `/v1/sandboxes/:id/${string}`
  /** `sse`: the answer may be an endless stream of events. `websocket`: the connection is upgraded. */
  readonly kind: 'plain' | 'sse' | 'websocket'
  /** `guest`: refused while its row says that there is none. `record`: what outlives the VM, too. */
  readonly needs: 'guest' | 'record'
  readonly docs: RouteDocs
}

/** A browser sets no headers where it follows events, upgrades, or saves what a link leads to. */
export function takesQueryToken({ method, kind, docs }: ProxiedRoute): boolean {
  return method === 'GET' && (kind !== 'plain' || docs.mediaType !== undefined)
}

const WITHOUT_GUEST: ReadonlySet<SandboxPlace['status']> = new Set(['creating', 'failed'])

/** What is known of it may lag behind: what that does not rule out the agent decides. */
export function isRuledOut({ needs }: ProxiedRoute, { status }: SandboxPlace): boolean {
  return needs === 'guest' && WITHOUT_GUEST.has(status)
}
