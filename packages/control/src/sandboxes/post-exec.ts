import { ApiError, type ErrorBody } from '@offshoot/contract/errors'
import { execBody, execResult } from '@offshoot/contract/exec'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { AgentUnreachable } from '../agents/agent-failure.ts'
import type { Control } from '../control.ts'
import { sandboxOf } from '../http/admission.ts'
import { parseBody } from '../http/body.ts'

/** Bytes: 8 Mi characters of `stdin` and what JSON needs to write them. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** Bytes up to which an answer is read whole: that is cheaper than a stream, and bounded. */
const SMALL_ANSWER_BYTES = 64 * 1024
/** Statuses that mean the same from an agent as from us; any other is for the log. */
const PASSED_ON = new Set([200, 400, 404, 409, 413, 504, 507])

/** `POST /v1/sandboxes/{id}/exec`: the agent runs it; a caller that hangs up ends the agent's request, and so the command. */
export function postExec(app: FastifyInstance, control: Control): void {
  app.post('/v1/sandboxes/:id/exec', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        summary: 'Run a command and wait for its end',
        tag: 'Sandboxes',
        body: execBody,
        status: 200,
        answer: execResult,
        errors: [
          'invalidField',
          'notFound',
          'sandboxNotRunning',
          'sandboxStopped',
          'agentUnreachable',
          'commandTimeout',
        ],
      },
    },
    handler: async (request, reply) => {
      const row = sandboxOf(request)
      parseBody(request, execBody)
      if (row.status === 'creating' || row.status === 'failed') throw new ApiError('sandboxNotRunning')
      const agent = control.fleet.byId(row.agent_id)
      if (agent === undefined) throw new ApiError('agentUnreachable')
      const hangUp = hangUpSignal(request, reply)
      // The caller's own bytes go on: they have been checked, and writing them anew would change nothing but cost time.
      const body = request.body as Buffer
      const answer = await agent.client
        .exec(row.id, row.workspace_id, request.id, body, hangUp)
        .catch((error: unknown) => refuse(error, hangUp))
      return passOn(request, reply, answer)
    },
  })
}

/** Aborts when the connection closes before the answer is out. */
function hangUpSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const hangUp = () => controller.abort(new Error('the caller hung up'))
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) hangUp()
  })
  // While the sandbox was looked up it may have happened already.
  if (request.raw.socket.destroyed) hangUp()
  return controller.signal
}

function refuse(error: unknown, hangUp: AbortSignal): never {
  // Nobody is there to read it; the status is for the log and the metrics.
  if (hangUp.aborted) throw new ApiError('invalidField', { error: 'the caller hung up' }, { cause: error })
  if (error instanceof AgentUnreachable) throw new ApiError('agentUnreachable', {}, { cause: error })
  throw error
}

async function passOn(
  request: FastifyRequest,
  reply: FastifyReply,
  { statusCode, headers, body }: Dispatcher.ResponseData,
) {
  if (!PASSED_ON.has(statusCode)) {
    const cause = new Error(`agent answered exec with ${statusCode}: ${(await body.text()).slice(0, 500)}`)
    throw new ApiError('internal', { detail: `request ${request.id}` } satisfies Partial<ErrorBody>, { cause })
  }
  reply.code(statusCode).header('content-type', 'application/json; charset=utf-8')
  const bytes = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (bytes <= SMALL_ANSWER_BYTES) return reply.send(Buffer.from(await body.arrayBuffer()))
  if (Number.isFinite(bytes)) reply.header('content-length', bytes)
  return reply.send(body)
}
