import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { FairLimit } from '@offshoot/kit/fair-limit'
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

/** An answer that was, or would have been, given to the first request. */
export interface KeptAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** What came of a request that nobody is at any more: its answer, nothing, or it is not settled yet. */
export type Remains = KeptAnswer | 'nothing' | 'unsettled'

/** Of a route that takes `Idempotency-Key`. */
export interface IdempotentRoute {
  /** Where the route makes its resource under the id that it is given; else what was interrupted stays unfinished. */
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
  /** What the request is to make has this id. */
  readonly resourceId: string
}

const HEADER = 'idempotency-key'
/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/
/** Milliseconds for which a second request waits for the answer to the first. */
const WAIT_MS = 60_000
/** Milliseconds until the first look for that answer; each further one comes later, */
const FIRST_LOOK_MS = 100
const LATER = 1.5
/** up to so many milliseconds. */
const LAST_LOOK_MS = 2_000
/** Second requests that wait, in this process. */
const MAX_WAITING = 200
/** Of them, those of one workspace. */
const WORKSPACE_WAITING = 50
/** Seconds after which whoever is still at it is not believed to be. */
const GIVEN_UP_SECONDS = 3600

/**
 * `Idempotency-Key` on creates: of all requests with one key within 24 hours one is carried out, and the others get its answer.
 *
 * The claim is in the database before anything is made, the answer before it is given. A process that dies in between leaves a
 * claim whose creator is gone: the next one with the key looks for what came of it. What was refused leaves no claim.
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
    request.idempotency = claim
    return undefined
  })
  app.addHook('onSend', async ({ idempotency, log }, reply, payload) => {
    if (idempotency === null) return
    await settle(control, idempotency, reply.statusCode, payload).catch((error: unknown) => {
      // What was made is made: whoever asks again is told that the first is unfinished.
      log.error({ err: error }, 'the answer to an idempotent request was not kept')
    })
  })
}

/** Id for what a create makes. */
export function resourceIdOf({ idempotency }: FastifyRequest): string {
  return idempotency?.resourceId ?? randomUUID()
}

function replay(reply: FastifyReply, { status, body }: KeptAnswer): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').header('idempotent-replayed', 'true').send(body)
}

/** Waits for what the first request is answered, in a place of its workspace's. @throws ApiError when it has none left, or in the end */
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

/** `mine`: this request is the one that is carried out. `undefined`: the first is not settled yet. */
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

/** `mine`: the first came to nothing, and this one goes on in its place. */
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

/** The header's key is the caller's own: a member who guesses another's key must not be given the other's answer, which may hold a secret. */
function keyOf(caller: Caller, header: string): string {
  return `${caller.method === 'jwt' ? `user:${caller.user.id}` : `key:${caller.prefix}`} ${header}`
}

/** Of what makes one request the same as another; the workspace and the caller are beside it. */
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
