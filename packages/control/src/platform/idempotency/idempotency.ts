import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Platform } from '../platform.ts'
import { identityOf } from '../audit/actor.ts'
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
/** A client that has given up on a create learns by it what was made, and makes sure that nothing is made later. */
const CANCEL_HEADER = 'idempotency-cancel'
/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/
/** Milliseconds for which a repeated request waits for the answer to the first. */
const WAIT_MS = 60_000
/** Milliseconds until the first check for that answer, the factor by which later checks slow down, and their maximum. */
const FIRST_LOOK_MS = 100
const LATER = 1.5
const LAST_LOOK_MS = 2_000
/** Repeated requests that may wait in this process, and those of one workspace among them. */
const MAX_WAITING = 200
const WORKSPACE_WAITING = 50
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
  const waiting = new FairLimit(WORKSPACE_WAITING, MAX_WAITING)
  app.decorateRequest('idempotency', null)
  app.addHook('preHandler', async (request, reply) => {
    const key = request.headers[HEADER]
    const { idempotent } = request.routeOptions.config
    if (idempotent === undefined || key === undefined) return undefined
    if (typeof key !== 'string' || !KEY.test(key)) {
      throw new ApiError('invalidField', { error: 'Idempotency-Key must be 1 to 255 printable ASCII characters' })
    }
    const claim = {
      workspaceId: callerOf(request).workspaceId,
      key: keyOf(callerOf(request), key),
      resourceId: randomUUID(),
    }
    const answer =
      (await claimOrLook(control, idempotent, claim, request)) ??
      (await wait(control, idempotent, claim, request, waiting))
    if (answer !== 'mine') return replay(reply, answer)
    if (request.headers[CANCEL_HEADER] !== undefined) throw await cancelled(control, claim)
    request.idempotency = claim
    return undefined
  })
  app.addHook('onSend', async ({ idempotency, log }, reply, payload) => {
    if (idempotency === null) return
    await settle(control, idempotency, reply.statusCode, payload).catch((error: unknown) => {
      // The resource exists, so the request must not fail. A repeated request will be answered "unfinished".
      log.error({ err: error }, 'the answer to an idempotent request was not kept')
    })
  })
}

/** Keeps the refusal, so that the request gets it, too, should it arrive later. */
async function cancelled({ database, answers }: Platform, { workspaceId, key, resourceId }: Claim): Promise<ApiError> {
  const error = new ApiError('idempotencyCancelled')
  const { status, body } = error
  await keepAnswer(database.pool, workspaceId, key, resourceId, status, answers.close(JSON.stringify(body)))
  return error
}

/** The id for the resource that a create makes. */
export function resourceIdOf({ idempotency }: FastifyRequest): string {
  return idempotency?.resourceId ?? randomUUID()
}

function replay(reply: FastifyReply, { status, body }: KeptAnswer): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').header('idempotent-replayed', 'true').send(body)
}

/**
 * Waits for the answer to the first request, in one of its workspace's places.
 * @throws ApiError when no place is free, or when the first request does not end in time
 */
async function wait(
  control: Platform,
  route: IdempotentRoute,
  claim: Claim,
  request: FastifyRequest,
  waiting: FairLimit,
): Promise<KeptAnswer | 'mine'> {
  const leave = waiting.take(claim.workspaceId)
  if (leave === null) throw unfinished(true)
  try {
    const endsAtMs = performance.now() + WAIT_MS
    for (let lookMs = FIRST_LOOK_MS; performance.now() <= endsAtMs; lookMs = Math.min(lookMs * LATER, LAST_LOOK_MS)) {
      await delay(lookMs)
      const found = await claimOrLook(control, route, claim, request)
      if (found !== undefined) return found
    }
    throw unfinished(true)
  } finally {
    leave()
  }
}

/** `mine`: this request is the one to carry out. `undefined`: the first is not settled yet. */
async function claimOrLook(
  control: Platform,
  route: IdempotentRoute,
  claim: Claim,
  request: FastifyRequest,
): Promise<KeptAnswer | 'mine' | undefined> {
  const { pool } = control.database
  const { workspaceId, key, resourceId } = claim
  const fingerprint = fingerprintOf(request)
  const [mine] = await claimRequest(pool, workspaceId, key, fingerprint, control.lock.number, resourceId)
  if (mine !== undefined) return 'mine'
  const [first] = await firstRequest(pool, workspaceId, key, GIVEN_UP_SECONDS)
  if (first === undefined) return undefined
  if (!first.fingerprint.equals(fingerprint)) throw new ApiError('idempotencyMismatch')
  const found = await answerOf(control, route, claim, first)
  return found === 'unsettled' ? undefined : found
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
  const { type, id } = identityOf(caller)
  return `${type}:${id} ${header}`
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
