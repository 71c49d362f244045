import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import { isSandboxCredential, sandboxOfCredentialText } from '@offshoot/contract/sandbox-credential'
import { verifySignedText } from '@offshoot/kit/signed-text'
import { OPERATOR_ROLES } from '@offshoot/contract/operator'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OrgsContext } from './identity/orgs-context.ts'
import type { Caller, Membership, SandboxCaller } from '../../platform/http/caller.ts'
import { ownForm } from './identity/api-key.ts'
import { ownerOfSandbox } from './identity/org-statements.ts'
import { userCaller } from './identity/user-caller.ts'
import type { SandboxLocation } from '../../fleet/sandbox-locations.ts'
import { refuseManaged, refuseUnlessAllowed } from './identity/authorize.ts'
import { runFor, setTenant } from '../../platform/db/tenant-pool.ts'
import { bearerToken } from '../../platform/http/bearer-token.ts'

/** Scopes of the routes inside a sandbox. */
const INSIDE_SANDBOX = ['sandboxes:read', 'sandboxes:write'] as const

/**
 * Determines the caller and the resource of every request. No other place does.
 *
 * It runs before the body is read, so that a refused caller uploads nothing. Control reads the resource by id *and*
 * workspace; therefore an unknown id, a malformed id and another workspace's id all give the same 404. The rate limit
 * counts every request with a workspace, whatever the route answers.
 */
export function registerAdmission(app: FastifyInstance, control: OrgsContext): void {
  app.decorateRequest('tenancy', null)
  app.decorateRequest('admitted', null)
  app.decorateRequest('operator', null)
  app.decorateRequest('admittedSandbox', null)
  app.decorateRequest('admittedLocation', null)
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.credential === 'operator' && config.operatorRole === undefined) {
      throw new Error(`${String(method)} ${url} has no operatorRole`)
    }
  })
  app.addHook('onRequest', (request, _reply, done) => {
    request.tenancy = { tenant: null }
    runFor(request.tenancy, done)
  })
  // After a body was read, the hooks run in the context of its last chunk.
  app.addHook('preValidation', ({ tenancy }, _reply, done) => (tenancy === null ? done() : runFor(tenancy, done)))
  app.addHook('onRequest', async (request) => {
    const { credential } = request.routeOptions.config
    if (credential === 'operator') await admitOperator(control, request)
    else if (credential !== undefined && credential !== 'broker') await admit(control, request)
  })
  // The agent no longer has the sandbox, so the cached place is stale. The next request reads the database.
  app.addHook('onResponse', async ({ admittedLocation: place }, { statusCode }) => {
    if (statusCode === 404 && place !== null) control.locations.forget(place.id)
  })
}

async function admit(control: OrgsContext, request: FastifyRequest): Promise<void> {
  const token = bearerToken(request)
  const { credential, loads } = request.routeOptions.config
  const caller = await callerOfToken(control, request, token)
  if (caller.method === 'sandbox') refuseOutsideSandbox(request, caller)
  else if (credential === 'jwt') refuseNarrow(request, caller)
  setTenant(caller.workspaceId)
  await control.rate.take(caller.workspaceId)
  const org = loads === 'org' ? orgNamed(request, caller) : null
  refuseUnlessAllowed(control, request, caller, org?.role ?? caller.role)
  request.admitted = { caller, org }
  if (loads === 'sandbox' || loads === 'location') await loadSandbox(control, request, loads, caller)
}

function callerOfToken(control: OrgsContext, request: FastifyRequest, token: string): Promise<Caller> {
  if (isSandboxCredential(token)) return admitSandboxCredential(control, request, token)
  const key = ownForm(token)
  return key.startsWith('ofs_') ? admitKey(control, request, key) : admitJwt(control, request, token)
}

/** Neither a key nor a narrowed token may act on the user's account, keys and memberships. */
function refuseNarrow({ routeOptions }: FastifyRequest, caller: Exclude<Caller, SandboxCaller>): void {
  if (caller.method === 'key') throw new ApiError('jwtRequired')
  if (caller.token.isNarrowed && routeOptions.config.takesNarrowed !== true) {
    throw new ApiError('scopeMissing', { detail: 'takes a token that is not narrowed' })
  }
}

/** @throws ApiError 403 for a route that is not inside a sandbox, 404 for another sandbox */
function refuseOutsideSandbox({ routeOptions, params }: FastifyRequest, { sandboxId }: SandboxCaller): void {
  if (routeOptions.config.takesSandboxCredential !== true) {
    throw new ApiError('scopeMissing', { detail: 'takes a key of the workspace' })
  }
  if (parseSandboxId((params as { id: string }).id) !== sandboxId) throw new ApiError('notFound')
}

async function loadSandbox(
  { locations, reads }: OrgsContext,
  request: FastifyRequest,
  loads: 'sandbox' | 'location',
  caller: Caller,
): Promise<void> {
  const { workspaceId } = caller
  const id = parseSandboxId((request.params as { id: string }).id)
  if (id === null) throw new ApiError('notFound')
  if (loads === 'location') request.admittedLocation = await locations.find(id, workspaceId)
  else request.admittedSandbox = await reads.find(id, workspaceId)
  const found = request.admittedLocation ?? request.admittedSandbox
  if (found === null) throw new ApiError('notFound')
  refuseManagedSandbox(request, caller, found)
}

function refuseManagedSandbox({ method, routeOptions }: FastifyRequest, caller: Caller, place: SandboxLocation): void {
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

async function admitKey({ keys, failures }: OrgsContext, { ip }: FastifyRequest, token: string): Promise<Caller> {
  if (failures.isSpent(ip) && !keys.hasSeen(token)) throw new ApiError('tooManyFailures')
  const key = await keys.find(token)
  if (key !== null) return key
  failures.note(ip)
  throw new ApiError('invalidApiToken')
}

async function admitSandboxCredential(
  { config, database, failures }: OrgsContext,
  { ip }: FastifyRequest,
  token: string,
): Promise<Caller> {
  const secret = config.gateway_secret
  const text = secret === undefined ? null : verifySignedText(Buffer.from(secret, 'base64'), token)
  const sandboxId = text === null ? null : sandboxOfCredentialText(text)
  const [owner] = sandboxId === null ? [] : await ownerOfSandbox(database.pool, sandboxId)
  if (sandboxId !== null && owner !== undefined) {
    const { workspace_id: workspaceId, is_suspended: isSuspended } = owner
    return { method: 'sandbox', sandboxId, workspaceId, scopes: INSIDE_SANDBOX, role: 'member', isSuspended }
  }
  const isSpent = failures.isSpent(ip)
  failures.note(ip)
  throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
}

async function admitJwt(control: OrgsContext, { headers, ip }: FastifyRequest, token: string): Promise<Caller> {
  const { failures, jwt, database, config } = control
  const claims = await jwt.verify(token)
  if (claims === null) {
    const isSpent = failures.isSpent(ip)
    failures.note(ip)
    throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
  }
  setTenant(claims.userId)
  const header = headers['x-offshoot-org']
  const named = typeof header === 'string' ? header : undefined
  return userCaller(database.pool, claims, named, config.limits.default_plan)
}

/** @throws ApiError 401 for every credential except an operator's key, 403 if the operator's role does not suffice */
async function admitOperator({ operatorKeys, failures }: OrgsContext, request: FastifyRequest): Promise<void> {
  const token = bearerToken(request)
  const { ip, routeOptions } = request
  const isSpent = failures.isSpent(ip)
  const operator = isSpent && !operatorKeys.hasSeen(token) ? null : await operatorKeys.find(token)
  if (operator === null) {
    failures.note(ip)
    throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
  }
  const { operatorRole: needed = 'owner' } = routeOptions.config
  const sufficient = OPERATOR_ROLES.slice(OPERATOR_ROLES.indexOf(needed))
  if (!sufficient.includes(operator.role)) {
    throw new ApiError('roleMissing', { detail: `takes the role ${sufficient.join(' or ')}` })
  }
  request.operator = operator
}
