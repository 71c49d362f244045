import { backgroundStarted } from '@offshoot/contract/background-exec'
import { execBody, execResult } from '@offshoot/contract/exec'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { locationOf } from '../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../platform/http/body.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { agentOf, refuseForwarded, unexpectedAnswer } from '../../fleet/proxy/agent-of.ts'
import { PASSED_ON_STATUSES } from '../../fleet/proxy/passed-on-statuses.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../../platform/http/bounded-body.ts'

/** Bytes: 8 Mi characters of `stdin` plus the overhead of JSON. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** Answers up to this number of bytes are read as a whole, which is cheaper than streaming and uses little memory. */
const SMALL_ANSWER_BYTES = 64 * 1024

/**
 * `POST /v1/sandboxes/{id}/exec`: the agent runs the command. If the caller hangs up, control aborts its request to the
 * agent, which kills the command.
 */
export function postExec(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/exec', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      loads: 'location',
      takesSandboxCredential: true,
      docs: {
        summary: 'Run a command and wait for its end; 201 with its exec_id for a background command',
        tag: 'Commands',
        body: execBody,
        status: 200,
        answer: execResult,
        also: [{ status: 201, answer: backgroundStarted }],
        errors: [
          'invalidField',
          'notFound',
          'sandboxNotRunning',
          'sandboxStopped',
          'sandboxMoving',
          'agentUnreachable',
          'commandTimeout',
          'tooManyCommands',
          'tooManyConnections',
        ],
      },
    },
    handler: async (request, reply) => {
      const location = locationOf(request)
      parseBody(request, execBody)
      const agent = await agentOf(control, { needs: 'guest' }, request)
      const hangUp = hangUpSignal(request, reply)
      // Forwards the caller's own bytes. They have been validated, and serializing them again would only cost time.
      const body = request.body as Buffer
      const answer = await agent
        .exec(location.id, location.workspace_id, request.id, body, hangUp)
        .catch((error: unknown) => refuseForwarded(error, hangUp))
      return passOn(request, reply, answer)
    },
  })
}

async function passOn(
  request: FastifyRequest,
  reply: FastifyReply,
  { statusCode, headers, body }: Dispatcher.ResponseData,
) {
  if (!PASSED_ON_STATUSES.has(statusCode)) {
    throw unexpectedAnswer(request, statusCode, (await readBeginning(body, MAX_REFUSAL_BYTES)).toString())
  }
  reply.code(statusCode).header('content-type', 'application/json; charset=utf-8')
  const bytes = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (bytes <= SMALL_ANSWER_BYTES) return reply.send(Buffer.from(await body.arrayBuffer()))
  if (Number.isFinite(bytes)) reply.header('content-length', bytes)
  return reply.send(body)
}
