import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { ApiError } from '@offshoot/contract/errors'
import { isUuid, parseSandboxId, type WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jwtVerify } from 'jose'
import { z } from 'zod'
import type { RecordKind, UnreadableRecords } from '../../store/ledger/unreadable-records.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'

/** Who asks: a workspace through control, control for itself (`workspaceId` is `null`), or the edge. */
export interface Caller {
  readonly workspaceId: WorkspaceId | null
  readonly isEdge?: boolean
}

/** The keys of those who sign credentials. */
export interface CallerSecrets {
  readonly control: Uint8Array
  /** `null`: no edge is let in. */
  readonly edge: Uint8Array | null
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
  interface FastifyContextConfig {
    /** Answers without a credential. */
    isPublic?: boolean
    /** Open to the edge too, for every sandbox; to it all other routes are unknown. */
    isForEdge?: boolean
  }
}

/** Seconds by which the clocks of two hosts may differ. */
const CLOCK_TOLERANCE_SECONDS = 5
const claims = z.object({ workspace_id: z.string().refine(isUuid).optional(), exp: z.number() })
/** Credentials remembered; control uses one for as long as it holds. */
const MAX_REMEMBERED = 1024
const anonymous: Caller = { workspaceId: null }

/** The one place that decides who a request is from; no route runs before it. */
export function requireCredential(server: FastifyInstance, secrets: CallerSecrets): void {
  server.decorateRequest('caller')
  const remembered = new Map<string, Remembered>()
  server.addHook('onRequest', async (request) => {
    const { isPublic, isForEdge } = request.routeOptions.config
    request.caller = isPublic ? anonymous : await readCredential(request, secrets, remembered)
    if (request.caller.isEdge && !isForEdge) throw new ApiError('notFound')
  })
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
    const { workspace_id, exp } = claims.parse(payload)
    const isEdge = protectedHeader.kid === EDGE_KEY_ID
    const caller = { workspaceId: isEdge ? null : ((workspace_id ?? null) as WorkspaceId | null), isEdge }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(token, { caller, endsAtMs: exp * 1000 })
    return caller
  } catch (error) {
    throw new ApiError('invalidApiToken', {}, { cause: error })
  }
}

function secretOf({ control, edge }: CallerSecrets, keyId: string | undefined): Uint8Array {
  if (keyId === undefined) return control
  if (keyId === EDGE_KEY_ID && edge !== null) return edge
  throw new Error(`no key ${keyId}`)
}

/** For what only control itself may ask. A workspace is told that there is no such thing. */
export function requireControl({ caller }: FastifyRequest): void {
  if (caller.workspaceId !== null) throw new ApiError('notFound')
}

/** Which kind of object a route's `:id` names, by the first part of its path below `/v1`. */
const KINDS: Readonly<Record<string, RecordKind>> = {
  sandboxes: 'sandbox',
  snapshots: 'snapshot',
  volumes: 'volume',
  templates: 'template',
  builds: 'build',
}

/**
 * Refuses every request about an object whose record cannot be read, before its route can mistake it for one that does not exist.
 * Control, which alone sends requests here, has checked whose it is.
 */
export function refuseUnreadable(server: FastifyInstance, unreadable: UnreadableRecords): void {
  server.addHook('preHandler', async ({ params, routeOptions }) => {
    const kind = KINDS[routeOptions.url?.split('/')[2] ?? '']
    const { id } = (params ?? {}) as { id?: string }
    if (kind !== undefined && id !== undefined && unreadable.has(kind, id)) throw new ApiError('recordUnreadable')
  })
}

/** The one place that looks up a sandbox: another workspace's is as unknown as one that never was. */
export function ownSandbox(
  sandboxes: ReadonlyMap<string, Sandbox>,
  { caller, params }: FastifyRequest,
): Sandbox | null {
  const id = parseSandboxId((params as { id: string }).id)
  const sandbox = id === null ? undefined : sandboxes.get(id)
  if (!sandbox) return null
  return caller.workspaceId === null || caller.workspaceId === sandbox.workspaceId ? sandbox : null
}
