import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Platform } from '../platform.ts'
import { type Caller, callerOf } from '../http/caller.ts'
import {
  claimRequest,
  type FirstRequestRow,
  firstRequest,
  forgetRequest,
  keepAnswer,
  takeOverRequest,
} from './idempotency-statements.ts'

/** The answer to the first request, as it was given or would have been given. */
export interface KeptAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** What is left of an abandoned request: its answer, nothing, or not known yet. */
export type Remains = KeptAnswer | 'nothing' | 'unsettled'

/** Options of a route that accepts `Idempotency-Key`. */
export interface IdempotentRoute {
  /** Set if the route creates its resource under the given id. Without it, an interrupted request stays unfinished. */
  readonly findRemains?: (workspaceId: WorkspaceId, resourceId: string) => Promise<Remains>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly idempotent?: IdempotentRoute
  }
  interface FastifyRequest {
    idempotency: Claim | null
  }
}

interface Claim {
  readonly workspaceId: WorkspaceId
  /** As {@link keyOf} stores it. */
  readonly key: string
  /** The id of the resource that the request creates. */
  readonly resourceId: string
}

const HEADER = 'idempotency-key'
/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/
/** Milliseconds for which a repeated request waits for the answer to the first. */
const WAIT_MS = 60_000
const LOOK_MS = 100
/** Repeated requests that may wait in this process. */
const MAX_WAITING = 200
/** Seconds after which a first request counts as abandoned, even if its process lives. */
const GIVEN_UP_SECONDS = 3600

/**
 * `Idempotency-Key` on creates: of all requests with the same key within 24 hours, control carries out one. The others
 * get its answer.
 *
 * The claim is committed before anything is created, the answer before it is sent. If the process dies in between, the
 * claim remains without a living creator, and the next request with the key looks for the result. A refused request
 * leaves no claim.
 */
export function registerIdempotency(app: FastifyInstance, control: Platform): void {
  let waiting = 0
  app.decorateRequest('idempotency', null)
  app.addHook('preHandler', async (request, reply) => {
    const key = request.headers[HEADER]
    const { idempotent } = request.routeOptions.config
    if (idempotent === undefined || key === undefined) return undefined
    if (typeof key !== 'string' || !KEY.test(key)) {
      throw new ApiError('invalidField', { error: 'Idempotency-Key must be 1 to 255 printable ASCII characters' })
    }
    if (waiting >= MAX_WAITING) throw unfinished(true)
    waiting += 1
    try {
      const answer = await claimOrWait(control, idempotent, key, request)
      return answer === null ? undefined : replay(reply, answer)
    } finally {
      waiting -= 1
    }
  })
  app.addHook('onSend', async ({ idempotency, log }, reply, payload) => {
    if (idempotency === null) return
    await settle(control, idempotency, reply.statusCode, payload).catch((error: unknown) => {
      // The resource exists, so the request must not fail. A repeated request will be answered "unfinished".
      log.error({ err: error }, 'the answer to an idempotent request was not kept')
    })
  })
}

/** The id for the resource that a create makes. */
export function resourceIdOf({ idempotency }: FastifyRequest): string {
  return idempotency?.resourceId ?? randomUUID()
}

function replay(reply: FastifyReply, { status, body }: KeptAnswer): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').header('idempotent-replayed', 'true').send(body)
}

/** `null`: this request is the one to carry out. */
async function claimOrWait(
  control: Platform,
  route: IdempotentRoute,
  header: string,
  request: FastifyRequest,
): Promise<KeptAnswer | null> {
  const { pool } = control.database
  const caller = callerOf(request)
  const { workspaceId } = caller
  const key = keyOf(caller, header)
  const fingerprint = fingerprintOf(request)
  const claim = { workspaceId, key, resourceId: randomUUID() }
  const endsAtMs = performance.now() + WAIT_MS
  for (;;) {
    const [mine] = await claimRequest(pool, workspaceId, key, fingerprint, control.lock.number, claim.resourceId)
    const [first] = mine === undefined ? await firstRequest(pool, workspaceId, key, GIVEN_UP_SECONDS) : []
    if (first !== undefined && !first.fingerprint.equals(fingerprint)) throw new ApiError('idempotencyMismatch')
    const found = mine === undefined ? first && (await answerOf(control, route, claim, first)) : 'mine'
    if (found === 'mine') {
      request.idempotency = claim
      return null
    }
    if (found !== undefined && found !== 'unsettled') return found
    if (performance.now() > endsAtMs) throw unfinished(true)
    await delay(LOOK_MS)
  }
}

/** `mine`: the first request created nothing, and this request replaces it. */
async function answerOf(
  control: Platform,
  { findRemains }: IdempotentRoute,
  { workspaceId, key, resourceId }: Claim,
  first: FirstRequestRow,
): Promise<KeptAnswer | 'mine' | 'unsettled'> {
  const { status, answer, resource_id: firstId } = first
  if (status !== null && answer !== null) return { status, body: control.answers.open(answer) }
  if (!first.is_abandoned) return 'unsettled'
  if (findRemains === undefined) throw unfinished(false)
  const remains = await findRemains(workspaceId, firstId)
  const { pool } = control.database
  if (remains === 'nothing') {
    const [taken] = await takeOverRequest(pool, workspaceId, key, firstId, control.lock.number, resourceId)
    return taken === undefined ? 'unsettled' : 'mine'
  }
  if (remains !== 'unsettled') {
    await keepAnswer(pool, workspaceId, key, firstId, remains.status, control.answers.close(remains.body))
  }
  return remains
}

async function settle(control: Platform, claim: Claim, status: number, payload: unknown): Promise<void> {
  const { workspaceId, key, resourceId } = claim
  const { pool } = control.database
  const isMade = status >= 200 && status <= 299 && typeof payload === 'string'
  if (isMade) await keepAnswer(pool, workspaceId, key, resourceId, status, control.answers.close(payload))
  else await forgetRequest(pool, workspaceId, key, resourceId)
}

/**
 * Scopes the header's key to its caller. A member who guesses another member's key must not get that answer, which may
 * contain a secret.
 */
function keyOf(caller: Caller, header: string): string {
  return `${caller.method === 'jwt' ? `user:${caller.user.id}` : `key:${caller.prefix}`} ${header}`
}

/** Identifies the same request. Workspace and caller are part of the key, so they are not in the hash. */
function fingerprintOf({ method, url, body }: FastifyRequest): Buffer {
  const hash = createHash('sha256').update(`${method} ${url}\n`)
  return hash.update(Buffer.isBuffer(body) ? body : '').digest()
}

function unfinished(isRunning: boolean): ApiError {
  const detail = isRunning
    ? 'it is still under way: try again with the same key'
    : 'it was interrupted: look whether it made something, then use another key'
  return new ApiError('idempotencyUnfinished', { detail })
}
