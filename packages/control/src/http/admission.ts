import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { Permission } from '@offshoot/contract/role'
import type { Scope } from '@offshoot/contract/scope'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import type { Caller, Membership, UserCaller } from '../identity/caller.ts'
import { userCaller } from '../identity/user-caller.ts'
import type { SandboxPlace } from '../sandboxes/sandbox-places.ts'
import type { SandboxRow } from '../sandboxes/sandbox-row.ts'
import { refuseManaged, refuseUnlessAllowed } from './allowance.ts'
import { bearerToken } from './bearer-token.ts'

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
  readonly sandbox: SandboxRow | null
  readonly place: SandboxPlace | null
  readonly org: Membership | null
}

/**
 * The one place where a request gets its caller and its resource.
 *
 * Runs before the body is read: who may not come in uploads nothing. What a route names is fetched by id *and*
 * workspace, so an unknown id, a malformed one and another workspace's are one and the same 404.
 * The rate limit counts whoever has a workspace, whatever the route then says.
 */
export function registerAdmission(app: FastifyInstance, control: Control): void {
  app.decorateRequest('admitted', null)
  app.addHook('onRequest', async (request) => {
    const { credential } = request.routeOptions.config
    if (credential === 'operator') admitOperator(control, request)
    else if (credential !== undefined && credential !== 'broker') request.admitted = await admit(control, request)
  })
  // What was there is not: the next one is told by the database.
  app.addHook('onResponse', async ({ admitted }, { statusCode }) => {
    if (statusCode === 404 && admitted?.place) control.places.forget(admitted.place.id)
  })
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

export function sandboxOf(request: FastifyRequest): SandboxRow {
  const sandbox = request.admitted?.sandbox
  if (sandbox === null || sandbox === undefined) throw new Error('route loads no sandbox, yet asks for it')
  return sandbox
}

export function placeOf(request: FastifyRequest): SandboxPlace {
  const place = request.admitted?.place
  if (place === null || place === undefined) throw new Error('route loads no place, yet asks for it')
  return place
}

/** The workspace of the path, with the caller's role in it. */
export function orgOf(request: FastifyRequest): Membership {
  const org = request.admitted?.org
  if (org === null || org === undefined) throw new Error('route loads no workspace, yet asks for it')
  return org
}

async function admit(control: Control, request: FastifyRequest): Promise<Admitted> {
  const token = bearerToken(request)
  const { credential, loads } = request.routeOptions.config
  const caller = token.startsWith('ofs_')
    ? await admitKey(control, request, token)
    : await admitJwt(control, request, token)
  if (credential === 'jwt' && caller.method === 'key') throw new ApiError('jwtRequired')
  await control.rate.take(caller.workspaceId)
  const org = loads === 'org' ? orgNamed(request, caller) : null
  refuseUnlessAllowed(control, request, caller, org?.role ?? caller.role)
  const admitted = { caller, org, sandbox: null, place: null }
  if (loads !== 'sandbox' && loads !== 'place') return admitted
  const id = parseSandboxId((request.params as { id: string }).id)
  if (id === null) throw new ApiError('notFound')
  if (loads === 'place') {
    const place = await control.places.find(id, caller.workspaceId)
    if (place === null) throw new ApiError('notFound')
    refuseManagedSandbox(request, caller, place)
    return { ...admitted, place }
  }
  const sandbox = await control.reads.find(id, caller.workspaceId)
  if (sandbox === null) throw new ApiError('notFound')
  refuseManagedSandbox(request, caller, sandbox)
  return { ...admitted, sandbox }
}

function refuseManagedSandbox({ method, routeOptions }: FastifyRequest, caller: Caller, place: SandboxPlace): void {
  const isRead = method === 'GET' || method === 'HEAD'
  const { managed = isRead ? 'read' : 'write' } = routeOptions.config
  if (managed !== 'open') refuseManaged(caller, place.managed_by, managed)
}

function orgNamed(request: FastifyRequest, caller: Caller): Membership {
  const { id } = request.params as { id: string }
  const org = caller.method === 'jwt' ? caller.workspaces.find((each) => each.id === id) : undefined
  if (org === undefined) throw new ApiError('notFound')
  return org
}

async function admitKey({ keys, failures }: Control, { ip }: FastifyRequest, token: string): Promise<Caller> {
  if (failures.isSpent(ip) && !keys.hasSeen(token)) throw new ApiError('tooManyFailures')
  const key = await keys.find(token)
  if (key !== null) return key
  failures.note(ip)
  throw new ApiError('invalidApiToken')
}

async function admitJwt(control: Control, { headers, ip }: FastifyRequest, token: string): Promise<Caller> {
  const { failures, jwt, database, config } = control
  const claims = await jwt.verify(token)
  if (claims === null) {
    const isSpent = failures.isSpent(ip)
    failures.note(ip)
    throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
  }
  const header = headers['x-offshoot-org']
  const named = typeof header === 'string' ? header : undefined
  return userCaller(database.pool, claims, named, config.limits.default_plan)
}

/** @throws ApiError 401 for every credential but the operator's own */
function admitOperator({ operatorKey, failures }: Control, request: FastifyRequest): void {
  const token = bearerToken(request)
  if (operatorKey.matches(token)) return
  const isSpent = failures.isSpent(request.ip)
  failures.note(request.ip)
  throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
}
