import { timingSafeEqual } from 'node:crypto'
import { finished } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { bearerToken } from '../../platform/http/bearer-token.ts'
import { setTenant } from '../../platform/db/tenant-pool.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { databaseById } from './database-statements.ts'
import { sha256 } from './model/secrets.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The database that the broker token opens. */
    brokerRow: DatabaseRow | null
  }
}

/** Bytes of one request. */
const BODY_LIMIT_BYTES = 16 * 1024 * 1024
/** A value that is no token's hash. */
const NOBODYS = Buffer.alloc(32)
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * `ANY /v1/databases/{id}/proxy/{path}`: SQL over HTTP for callers with the broker token. Only a request with a valid
 * token wakes the sandbox.
 */
export function proxyRoutes(app: FastifyInstance, control: DatabasesContext): void {
  app.decorateRequest('brokerRow', null)
  for (const method of METHODS) {
    app.route({
      method,
      url: '/v1/databases/:id/proxy/*',
      exposeHeadRoute: false,
      bodyLimit: BODY_LIMIT_BYTES,
      config: {
        credential: 'broker',
        docs: {
          summary: 'SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql',
          tag: 'Databases',
          status: 200,
          errors: [
            'invalidField',
            'notFound',
            'methodNotAllowed',
            'sandboxNotRunning',
            'sandboxStopped',
            'agentUnreachable',
            'insufficientMemory',
          ],
        },
      },
      // Before the body is read, so that a refused caller uploads nothing.
      onRequest: async (request) => {
        request.brokerRow = await admit(control, request)
      },
      handler: (request, reply) => forward(control, request, reply),
    })
  }
}

async function forward(control: DatabasesContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { method, headers, body, brokerRow: row } = request
  const { '*': rest } = request.params as { '*': string }
  if (row === null) throw new Error('the request was not admitted')
  const answer = await control.broker.answer(row, {
    method,
    path: rest,
    headers,
    body,
    hangUp: hangUpSignal(request, reply),
  })
  // Until then the answer is in memory, however slowly the caller reads it.
  finished(reply.raw, answer.release)
  return reply.code(answer.status).send(answer.body)
}

/**
 * Finds the database that the token opens. Its connection counts for the caller's address until the workspace is known.
 * @throws ApiError 401, 429
 */
async function admit(control: DatabasesContext, request: FastifyRequest): Promise<DatabaseRow> {
  setTenant(request.ip)
  const id = parseSandboxId((request.params as { id: string }).id)
  const [row] = id === null ? [] : await databaseById(control.database.pool, id)
  checkToken(control, request, row)
  if (row === undefined) throw new ApiError('notFound')
  setTenant(row.workspace_id)
  await control.rate.take(row.workspace_id)
  return row
}

/**
 * Compares in constant time, so that the duration reveals nothing about the token. For an unknown database every token
 * is wrong, so callers cannot find out which databases exist.
 * @throws ApiError 401
 */
function checkToken({ failures }: DatabasesContext, request: FastifyRequest, row: DatabaseRow | undefined): void {
  const token = bearerToken(request)
  if (timingSafeEqual(sha256(token), row?.broker_token_sha256 ?? NOBODYS)) return
  const isSpent = failures.isSpent(request.ip)
  failures.note(request.ip)
  throw new ApiError(isSpent ? 'tooManyFailures' : 'invalidApiToken')
}
