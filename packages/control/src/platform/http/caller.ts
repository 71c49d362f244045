import type { WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceSummary } from '@offshoot/contract/identity'
import type { Permission, WorkspaceRole } from '@offshoot/contract/role'
import type { Scope } from '@offshoot/contract/scope'
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which credentials open the route; none is needed where it is absent. A broker's token is the route's own to look at. */
    readonly credential?: 'key-or-jwt' | 'jwt' | 'operator' | 'broker'
    /** The route's `:id` is a sandbox of the caller's workspace, its row, or just where it is; or a workspace the caller is in. */
    readonly loads?: 'sandbox' | 'place' | 'org'
    /**
     * What the route does with a sandbox that a database or an app owns: a key with scopes needs the owner's scope for it. When
     * absent, a GET reads and everything else writes. `open`: shows no more than lists do, or refuses everybody itself.
     */
    readonly managed?: 'open' | 'read' | 'write'
    /** What the caller's role must allow: in the workspace of `:id` if the route loads one, else in the one acted in. */
    readonly permission?: Permission
    /** What a key with scopes must have, where path and method do not tell: a GET that upgrades may do anything. */
    readonly scope?: Scope
    /** The credential may also come as `?access_token=`: browsers cannot set headers on streams and upgrades. */
    readonly takesQueryToken?: boolean
  }
  interface FastifyRequest {
    admitted: Admitted | null
  }
}

interface Admitted {
  readonly caller: Caller
  readonly org: Membership | null
}

/** A workspace that a user is a member of. */
export type Membership = WorkspaceSummary & { readonly id: WorkspaceId; readonly isSuspended: boolean }

interface InWorkspace {
  readonly workspaceId: WorkspaceId
  /** Of a key: that of the member who made it. */
  readonly role: WorkspaceRole
  /** An operator has stopped what the workspace computes. */
  readonly isSuspended: boolean
}

/** Who a request speaks for, once its credential has been checked. */
export type Caller = KeyCaller | UserCaller

interface KeyCaller extends InWorkspace {
  readonly method: 'key'
  readonly prefix: string
  /** `null`: everything. */
  readonly scopes: readonly Scope[] | null
}

export interface UserCaller extends InWorkspace {
  readonly method: 'jwt'
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  /** Oldest membership first; the one acted in is among them. */
  readonly workspaces: readonly Membership[]
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.admitted === null) throw new Error('route takes no credential, yet asks for its caller')
  return request.admitted.caller
}

/** Of a route that takes tokens only. */
export function userOf(request: FastifyRequest): UserCaller {
  const caller = callerOf(request)
  if (caller.method !== 'jwt') throw new Error('a key passed a route that takes tokens only')
  return caller
}

/** The workspace of the path, with the caller's role in it. */
export function orgOf(request: FastifyRequest): Membership {
  const org = request.admitted?.org
  if (org === null || org === undefined) throw new Error('route loads no workspace, yet asks for it')
  return org
}
