import type { BackgroundStarted } from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import { execBody, type ExecResult } from '@offshoot/contract/exec'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { startBackground } from '../sandbox/commands/background.ts'
import { execInSandbox } from '../sandbox/commands/exec.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

/** `POST /v1/sandboxes/{id}/exec`; a caller that hangs up kills its command. */
export function postExec(server: FastifyInstance, { host, stopping }: Agent): void {
  server.post('/v1/sandboxes/:id/exec', async (request, reply): Promise<ExecResult | BackgroundStarted> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const body = parseBody(execBody, request.body)
    if (body.background) {
      void reply.code(201)
      return startBackground(sandbox, body)
    }
    const hangUp = new AbortController()
    const onClose = () => {
      if (!reply.raw.writableEnded) hangUp.abort()
    }
    reply.raw.once('close', onClose)
    if (request.raw.socket.destroyed) onClose()
    return execInSandbox(sandbox, body, AbortSignal.any([hangUp.signal, stopping]))
  })
}
