import type { SandboxLocation } from '../sandbox-locations.ts'
import type { RouteDocs } from '../../platform/http/route-docs.ts'

/** One operation that control forwards to a sandbox's agent; an entry of `kinds/sandboxes/proxied-routes.ts`. */
export interface ProxiedRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The same in the public API and in the agent's. `:id` is the sandbox. */
  readonly url: `/v1/sandboxes/:id/${string}`
  /** `sse`: the answer may be an endless event stream. `websocket`: the connection is upgraded. */
  readonly kind: 'plain' | 'sse' | 'websocket'
  /**
   * `guest`: refused if the row says that the sandbox has no guest. `record`: also works for records that outlive the
   * VM.
   */
  readonly needs: 'guest' | 'record'
  readonly docs: RouteDocs
}

/** A browser cannot set headers when it follows events, upgrades a connection, or downloads a link. */
export function takesQueryToken({ method, kind, docs }: ProxiedRoute): boolean {
  return method === 'GET' && (kind !== 'plain' || docs.mediaType !== undefined)
}

const WITHOUT_GUEST: ReadonlySet<SandboxLocation['status']> = new Set(['creating', 'failed'])

/** The cached place may be stale, so control refuses only what it certainly rules out. The agent decides the rest. */
export function isRuledOut({ needs }: Pick<ProxiedRoute, 'needs'>, { status }: SandboxLocation): boolean {
  return needs === 'guest' && WITHOUT_GUEST.has(status)
}
