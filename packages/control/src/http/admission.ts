import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId, type SandboxId, type WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Control } from '../control.ts'
import { apiKeyPrefix, matchesHash } from '../identity/api-key.ts'
import { keyAndSandbox } from '../identity/api-key-statements.ts'
import type { Caller } from '../identity/caller.ts'
import { userCaller } from '../identity/user-caller.ts'
import type { SandboxRow } from '../sandboxes/sandbox-row.ts'
import { sandboxOfWorkspace } from '../sandboxes/sandbox-statements.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which credentials open the route; none is needed where it is absent. */
    readonly credential?: 'key-or-jwt' | 'jwt'
    /** The route's `:id` is a sandbox of the caller's workspace, loaded before the handler. */
    readonly loads?: 'sandbox'
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

async function admit(control: Control, request: FastifyRequest): Promise<Admitted> {
  const token = bearerToken(request)
  const { credential, loads } = request.routeOptions.config
  const id = loads === 'sandbox' ? parseSandboxId((request.params as { id: string }).id) : null
  const admitted = token.startsWith('ofs_')
    ? await admitKey(control, token, id)
    : await admitJwt(control, request, token, id)
  if (credential === 'jwt' && admitted.caller.method === 'key') throw new ApiError('jwtRequired')
  if (loads === 'sandbox' && admitted.sandbox === null) throw new ApiError('notFound')
  return admitted
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

async function admitKey(control: Control, token: string, sandboxId: SandboxId | null): Promise<Admitted> {
  const prefix = apiKeyPrefix(token)
  const [row] = prefix === null ? [] : await keyAndSandbox(control.database.pool, prefix, sandboxId)
  if (prefix === null || row === undefined || !matchesHash(token, row.key_hash)) throw new ApiError('invalidApiToken')
  control.keyUsage.note(prefix, row.key_last_used_at)
  return {
    caller: { method: 'key', workspaceId: row.key_workspace_id as WorkspaceId, prefix },
    sandbox: row.id === null ? null : row,
  }
}

async function admitJwt(
  control: Control,
  request: FastifyRequest,
  token: string,
  sandboxId: SandboxId | null,
): Promise<Admitted> {
  const claims = await control.jwt.verify(token)
  if (claims === null) throw new ApiError('invalidApiToken')
  const header = request.headers['x-offshoot-org']
  const caller = await userCaller(control.database.pool, claims, typeof header === 'string' ? header : undefined)
  const [sandbox] =
    sandboxId === null ? [] : await sandboxOfWorkspace(control.database.pool, sandboxId, caller.workspaceId)
  return { caller, sandbox: sandbox ?? null }
}
