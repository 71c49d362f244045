import { ApiError } from '@offshoot/contract/errors'
import { isPermitted, rolesWith, type WorkspaceRole } from '@offshoot/contract/role'
import { isCompute, type Scope, scopeOf } from '@offshoot/contract/scope'
import type { FastifyRequest } from 'fastify'
import type { OrgsContext } from './orgs-context.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import type { Manager } from '../../../fleet/sandbox-row.ts'

/**
 * Refuses a caller who may not use the route.
 *
 * @param role the caller's role in the route's workspace
 * @throws ApiError 403
 */
export function refuseUnlessAllowed(
  { config }: OrgsContext,
  { routeOptions, method }: FastifyRequest,
  caller: Caller,
  role: WorkspaceRole,
): void {
  const { permission, scope = scopeOf(method, routeOptions.url ?? '') } = routeOptions.config
  if (routeOptions.config.takesNarrowed !== true) refuseOutOfScope(caller, scope)
  if (permission !== undefined && !isPermitted(role, permission)) {
    throw new ApiError('roleMissing', { detail: `takes the role ${rolesWith(permission).join(' or ')}` })
  }
  if (caller.isSuspended && isCompute(scope, method)) {
    throw new ApiError('accountSuspended', { detail: contactSupport(config.support) })
  }
}

type ScopedCaller = Pick<Caller, 'method' | 'scopes'>

function refuseOutOfScope(caller: ScopedCaller, scope: Scope | null): void {
  if (caller.scopes === null) return
  if (scope === null) {
    const credential = caller.method === 'jwt' ? 'token' : 'key'
    throw new ApiError('scopeMissing', { detail: `takes a ${credential} without scopes` })
  }
  if (!caller.scopes.includes(scope)) throw new ApiError('scopeMissing', { detail: `takes the scope ${scope}` })
}

/** The scope of the feature that owns the sandbox. */
const FEATURE_OF = { app: 'apps', database: 'databases', proof: 'databases' } as const satisfies Record<
  Manager['by'],
  string
>

/**
 * Checks a caller's access to a sandbox that a database or an app owns, or to a snapshot of one. Access to such a
 * sandbox reveals the feature's data and variables. A key with scopes therefore needs the feature's scope in addition
 * to the route's.
 *
 * @param managedBy the owner of the sandbox or snapshot
 * @throws ApiError 403
 */
export function refuseManaged(caller: ScopedCaller, managedBy: Manager['by'] | null, access: 'read' | 'write'): void {
  if (managedBy !== null) refuseOutOfScope(caller, `${FEATURE_OF[managedBy]}:${access}`)
}

function contactSupport(address: string | undefined): string {
  return address === undefined ? 'please contact support' : `please contact support: ${address}`
}
