import { EDGE_KEY_ID, SSH_GRANT_KEY_ID } from '@offshoot/contract/agent-credential'
import { ApiError } from '@offshoot/contract/errors'
import { CONTROL_NAME, EDGE_NAME } from '@offshoot/contract/fleet-identity'
import { isUuid, parseSandboxId, type WorkspaceId } from '@offshoot/contract/ids'
import { peerNameOf } from '@offshoot/kit/mutual-tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jwtVerify } from 'jose'
import { z } from 'zod'
import type { RecordKind, UnreadableRecords } from '../../store/ledger/unreadable-records.ts'
import type { ObeyedCluster } from '../../store/events/obeyed-cluster.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'

/** Who sends a request: control for a workspace, control for itself (`workspaceId` is `null`), or the edge. */
export interface Caller {
  readonly workspaceId: WorkspaceId | null
  readonly isEdge?: boolean
  /** The only sandbox of a grant for an SSH session, which opens the routes with `isForSsh` only. */
  readonly sshSandboxId?: string
  /** The database behind the control that asks, where its credential names one. */
  readonly clusterId?: string
}

/** The HMAC keys that verify credentials. */
export interface CallerSecrets {
  readonly control: Uint8Array
  /** `null`: the agent accepts no request from an edge. */
  readonly edge: Uint8Array | null
  /** The host that every credential must name. `null`: none must; control and the edge are on this host. */
  readonly audience?: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
  interface FastifyContextConfig {
    /** The route needs no credential. */
    isPublic?: boolean
    /** The edge may call this route, for every sandbox. All other routes answer it with 404. */
    isForEdge?: boolean
    /** A grant for an SSH session opens this route, for its sandbox. All other routes answer it with 404. */
    isForSsh?: boolean
    /** Deletes without being a DELETE. */
    isDeletion?: boolean
  }
}

/** Clock skew between two hosts that the expiry check tolerates, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 5
const claims = z.object({
  workspace_id: z.string().refine(isUuid).optional(),
  sandbox_id: z.string().refine(isUuid).optional(),
  cluster_id: z.uuid().optional(),
  exp: z.number(),
})
/** Verified credentials in the cache. Control sends the same one until it expires. */
const MAX_REMEMBERED = 1024
const anonymous: Caller = { workspaceId: null }

/** Authenticates every request. No route runs before this hook, and no other code decides who the caller is. */
export function requireCredential(server: FastifyInstance, secrets: CallerSecrets): void {
  server.decorateRequest('caller')
  const remembered = new Map<string, Remembered>()
  server.addHook('onRequest', async (request) => {
    const { isPublic, isForEdge, isForSsh } = request.routeOptions.config
    request.caller = isPublic ? anonymous : await readCredential(request, secrets, remembered)
    if (!isPublic) refuseOtherPeer(request)
    if (request.caller.isEdge && !isForEdge) throw new ApiError('notFound')
    if (request.caller.sshSandboxId !== undefined && !isForSsh) throw new ApiError('notFound')
  })
}

/** Over TLS the caller's certificate must be of the process that its credential is of. */
function refuseOtherPeer({ raw, caller }: FastifyRequest): void {
  const name = peerNameOf(raw.socket)
  const isOfEdge = caller.isEdge === true || caller.sshSandboxId !== undefined
  if (name !== null && name !== (isOfEdge ? EDGE_NAME : CONTROL_NAME)) throw new ApiError('invalidApiToken')
}

interface Remembered {
  readonly caller: Caller
  readonly endsAtMs: number
}

async function readCredential(
  { headers }: FastifyRequest,
  secrets: CallerSecrets,
  remembered: Map<string, Remembered>,
): Promise<Caller> {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) throw new ApiError('missingBearerToken')
  const known = remembered.get(token)
  if (known && known.endsAtMs > Date.now()) return known.caller
  try {
    const options = { algorithms: ['HS256'], requiredClaims: ['exp'], clockTolerance: CLOCK_TOLERANCE_SECONDS }
    const { payload, protectedHeader } = await jwtVerify(
      token,
      (header: { readonly kid?: string }) => secretOf(secrets, header.kid),
      options,
    )
    const { workspace_id, sandbox_id: sandboxId, cluster_id: clusterId, exp } = claims.parse(payload)
    if ((secrets.audience ?? null) !== null && payload.aud !== secrets.audience) throw new Error('for another host')
    const isEdge = protectedHeader.kid === EDGE_KEY_ID
    const isSsh = protectedHeader.kid === SSH_GRANT_KEY_ID
    if (isSsh && (workspace_id === undefined || sandboxId === undefined)) throw new Error('a grant without a sandbox')
    const caller = {
      workspaceId: isEdge ? null : ((workspace_id ?? null) as WorkspaceId | null),
      isEdge,
      ...(isSsh && sandboxId !== undefined && { sshSandboxId: sandboxId }),
      ...(clusterId !== undefined && { clusterId }),
    }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(token, { caller, endsAtMs: exp * 1000 })
    return caller
  } catch (error) {
    throw new ApiError('invalidApiToken', {}, { cause: error })
  }
}

function secretOf({ control, edge }: CallerSecrets, keyId: string | undefined): Uint8Array {
  if (keyId === undefined || keyId === SSH_GRANT_KEY_ID) return control
  if (keyId === EDGE_KEY_ID && edge !== null) return edge
  throw new Error(`no key ${keyId}`)
}

/** For routes of control alone. A workspace gets 404, so that it does not learn that the route exists. */
export function requireControl({ caller }: FastifyRequest): void {
  if (caller.workspaceId !== null) throw new ApiError('notFound')
}

/** Control of another cluster deletes nothing: its database does not know what is here. Registered after {@link requireCredential}. */
export function refuseOtherCluster(server: FastifyInstance, cluster: Pick<ObeyedCluster, 'refuseOther'>): void {
  server.addHook('onRequest', async ({ caller, method, routeOptions }) => {
    if (method === 'DELETE' || routeOptions.config.isDeletion) cluster.refuseOther(caller.clusterId)
  })
}

/** The kind of record that a route's `:id` names, by the first segment of its path below `/v1`. */
const KINDS: Readonly<Record<string, RecordKind>> = {
  sandboxes: 'sandbox',
  snapshots: 'snapshot',
  volumes: 'volume',
  templates: 'template',
  builds: 'build',
}

/**
 * Refuses every request about an object with an unreadable record, before its route mistakes "unreadable" for "absent".
 * The record would name the workspace. The agent relies on control, which sends the request, to have checked it.
 */
export function refuseUnreadable(server: FastifyInstance, unreadable: UnreadableRecords): void {
  server.addHook('preHandler', async ({ params, routeOptions }) => {
    const kind = KINDS[routeOptions.url?.split('/')[2] ?? '']
    const { id } = (params ?? {}) as { id?: string }
    if (kind !== undefined && id !== undefined && unreadable.has(kind, id)) throw new ApiError('recordUnreadable')
  })
}

/** Every route looks up its sandbox here. `null` for an unknown sandbox and for another tenant's: callers cannot tell them apart. */
export function ownSandbox(
  sandboxes: ReadonlyMap<string, Sandbox>,
  { caller, params }: FastifyRequest,
): Sandbox | null {
  const id = parseSandboxId((params as { id: string }).id)
  const sandbox = id === null ? undefined : sandboxes.get(id)
  if (!sandbox || (caller.sshSandboxId !== undefined && caller.sshSandboxId !== sandbox.id)) return null
  return caller.workspaceId === null || caller.workspaceId === sandbox.workspaceId ? sandbox : null
}
