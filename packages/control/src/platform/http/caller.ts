import type { Tenancy } from '../db/tenant-pool.ts'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { WorkspaceSummary } from '@offshoot/contract/identity'
import type { OperatorRole } from '@offshoot/contract/operator'
import type { Permission, WorkspaceRole } from '@offshoot/contract/role'
import type { Scope } from '@offshoot/contract/scope'
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which credentials open the route. Absent: none is needed. With `broker`, the route checks its token itself. */
    readonly credential?: 'key-or-jwt' | 'jwt' | 'operator' | 'broker'
    /** The role that an operator needs. Every route for operators declares it. */
    readonly operatorRole?: OperatorRole
    /** A route for JWTs that narrowed ones open too. */
    readonly takesNarrowed?: boolean
    /**
     * What the route's `:id` names: a sandbox of the caller's workspace, loaded as its row or only as its place, or a
     * workspace that the caller is a member of.
     */
    readonly loads?: 'sandbox' | 'location' | 'org'
    /**
     * The access that the route needs to a sandbox that a database or an app owns. A key with scopes needs the owner's
     * scope for it. Absent: a GET reads, every other method writes. `open`: the route shows no more than lists do, or
     * refuses every caller itself.
     */
    readonly managed?: 'open' | 'read' | 'write'
    /**
     * The permission that the caller's role needs: in the workspace of `:id` if the route loads one, else in the
     * current workspace.
     */
    readonly permission?: Permission
    /**
     * The scope that a key needs, where path and method do not determine it. For example, a GET that upgrades may do
     * anything.
     */
    readonly scope?: Scope
    /**
     * Whether a credential for the inside of one sandbox opens the route, for its own sandbox. The route loads a
     * sandbox.
     */
    readonly takesSandboxCredential?: boolean
    /**
     * The credential may also come as `?access_token=`, because browsers cannot set headers on streams and upgrades.
     */
    readonly takesQueryToken?: boolean
  }
  interface FastifyRequest {
    admitted: Admitted | null
    /** The caller of a route for operators. */
    operator: AdmittedOperator | null
    /** Whose connections to the database the request uses. */
    tenancy: Tenancy | null
  }
}

export interface AdmittedOperator {
  readonly id: string
  readonly role: OperatorRole
}

interface Admitted {
  readonly caller: Caller
  readonly org: Membership | null
}

/** A workspace that the user is a member of. */
export type Membership = WorkspaceSummary & { readonly id: WorkspaceId; readonly isSuspended: boolean }

interface InWorkspace {
  readonly workspaceId: WorkspaceId
  /** For a key: the role of the member who created it. */
  readonly role: WorkspaceRole
  /** An operator has suspended the workspace's compute. */
  readonly isSuspended: boolean
}

/** The caller of a request, after its credential was checked. */
export type Caller = KeyCaller | UserCaller | SandboxCaller

interface KeyCaller extends InWorkspace {
  readonly method: 'key'
  readonly prefix: string
  /** `null`: all scopes. */
  readonly scopes: readonly Scope[] | null
}

/** The holder of a credential for the inside of one sandbox. */
export interface SandboxCaller extends InWorkspace {
  readonly method: 'sandbox'
  readonly sandboxId: SandboxId
  readonly scopes: readonly Scope[]
}

export interface UserCaller extends InWorkspace {
  readonly method: 'jwt'
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  /** Oldest membership first. Includes the current workspace. With a narrowed token: only the token's workspace. */
  readonly workspaces: readonly Membership[]
  /** `null`: all scopes. */
  readonly scopes: readonly Scope[] | null
  readonly token: TokenOfUser
}

export interface TokenOfUser {
  /** The token acts in one workspace only, or has scopes. It opens what an API key opens. */
  readonly isNarrowed: boolean
  readonly sessionId: string | null
  /** Seconds since 1970. */
  readonly expiresAt: number
  /** When the user proved to an external issuer who they are, in seconds since 1970; `null`: see the session. */
  readonly provenAt: number | null
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.admitted === null) throw new Error('route takes no credential, yet asks for its caller')
  return request.admitted.caller
}

/** For routes that accept only JWTs. */
export function userOf(request: FastifyRequest): UserCaller {
  const caller = callerOf(request)
  if (caller.method !== 'jwt') throw new Error('a key passed a route that takes tokens only')
  return caller
}

/** The workspace in the path, with the caller's role in it. */
export function orgOf(request: FastifyRequest): Membership {
  const org = request.admitted?.org
  if (org === null || org === undefined) throw new Error('route loads no workspace, yet asks for it')
  return org
}
