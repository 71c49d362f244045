import { type BackgroundExec, signalBody } from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { findBackground, listBackground, removeBackground, signalBackground } from '../sandbox/commands/background.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

/** `/v1/sandboxes/{id}/execs…`: background commands, but for their output (`follow-exec.ts`). */
export function execRoutes(server: FastifyInstance, { host }: Agent): void {
  const find = (request: FastifyRequest): { sandbox: Sandbox; execId: string } => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return { sandbox, execId: (request.params as { execId: string }).execId }
  }
  server.get('/v1/sandboxes/:id/execs', async (request): Promise<BackgroundExec[]> =>
    listBackground(find(request).sandbox),
  )
  server.get('/v1/sandboxes/:id/execs/:execId', async (request): Promise<BackgroundExec> => {
    const { sandbox, execId } = find(request)
    return findBackground(sandbox, execId)
  })
  server.post('/v1/sandboxes/:id/execs/:execId/signal', async (request): Promise<BackgroundExec> => {
    const { sandbox, execId } = find(request)
    const { signal } = parseBody(signalBody, request.body)
    await signalBackground(sandbox, execId, signal)
    return findBackground(sandbox, execId)
  })
  server.delete('/v1/sandboxes/:id/execs/:execId', async (request, reply) => {
    const { sandbox, execId } = find(request)
    await removeBackground(sandbox, execId)
    return reply.code(204).send()
  })
}
