import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import type { Caller } from '../identity/caller.ts'
import { userCaller } from '../identity/user-caller.ts'
import type { SandboxPlace } from '../sandboxes/sandbox-places.ts'
import type { SandboxRow } from '../sandboxes/sandbox-row.ts'
import { sandboxOfWorkspace } from '../sandboxes/sandbox-statements.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which credentials open the route; none is needed where it is absent. */
    readonly credential?: 'key-or-jwt' | 'jwt'
    /** The route's `:id` is a sandbox of the caller's workspace: its row, or just where it is. */
    readonly loads?: 'sandbox' | 'place'
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
}

/**
 * The one place where a request gets its caller and its resource.
 *
 * Runs before the body is read: who may not come in uploads nothing. What a route names is fetched by id *and*
 * workspace, so an unknown id, a malformed one and another workspace's are one and the same 404.
 * Limits, plans and suspended workspaces belong after the caller is known and before the handler: here, after `admit`.
 */
export function registerAdmission(app: FastifyInstance, control: Control): void {
  app.decorateRequest('admitted', null)
  app.addHook('onRequest', async (request) => {
    const { credential } = request.routeOptions.config
    if (credential !== undefined) request.admitted = await admit(control, request)
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

async function admit(control: Control, request: FastifyRequest): Promise<Admitted> {
  const token = bearerToken(request)
  const { credential, loads } = request.routeOptions.config
  const caller = token.startsWith('ofs_') ? await admitKey(control, token) : await admitJwt(control, request, token)
  if (credential === 'jwt' && caller.method === 'key') throw new ApiError('jwtRequired')
  if (loads === undefined) return { caller, sandbox: null, place: null }
  const id = parseSandboxId((request.params as { id: string }).id)
  if (id === null) throw new ApiError('notFound')
  if (loads === 'place') {
    const place = await control.places.find(id, caller.workspaceId)
    if (place === null) throw new ApiError('notFound')
    return { caller, sandbox: null, place }
  }
  const [sandbox] = await sandboxOfWorkspace(control.database.pool, id, caller.workspaceId)
  if (sandbox === undefined) throw new ApiError('notFound')
  return { caller, sandbox, place: null }
}

/** @throws ApiError 401 when there is no `Authorization: Bearer …`, another scheme included */
function bearerToken({ headers, query, routeOptions }: FastifyRequest): string {
  const inQuery = routeOptions.config.takesQueryToken === true && headers.authorization === undefined
  const given = inQuery ? (query as { access_token?: unknown }).access_token : undefined
  const token =
    typeof given === 'string' ? /^\S+$/.exec(given)?.[0] : /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) throw new ApiError('missingBearerToken')
  return token
}

async function admitKey({ keys }: Control, token: string): Promise<Caller> {
  const key = await keys.find(token)
  if (key === null) throw new ApiError('invalidApiToken')
  return { method: 'key', ...key }
}

async function admitJwt(control: Control, { headers }: FastifyRequest, token: string): Promise<Caller> {
  const claims = await control.jwt.verify(token)
  if (claims === null) throw new ApiError('invalidApiToken')
  const header = headers['x-offshoot-org']
  return userCaller(control.database.pool, claims, typeof header === 'string' ? header : undefined)
}
