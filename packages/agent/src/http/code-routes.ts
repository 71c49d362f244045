import { type CodeBody, codeBody, codeContext, type CodeContext, newCodeContext } from '@offshoot/contract/code'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Agent } from '../sandbox/agent.ts'
import { type CodeLine, InvalidCodeLine, parseCodeLines } from '../sandbox/code/code-lines.ts'
import { askForJson, execute } from '../sandbox/code/code-server.ts'
import { notRunningReason } from '../sandbox/model/guest-access.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { hangUpOf } from './request/hang-up-of.ts'
import { parseBody } from './request/parse-body.ts'
import { ownSandbox } from './request/require-credential.ts'
import { PushedEvents } from './streams/push-events.ts'

const CONTEXTS = '/v1/sandboxes/:id/code/contexts'
const contextPath = z.object({ context: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/) })

/** `/v1/sandboxes/{id}/code…`: the code interpreter of a sandbox. */
export function codeRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
  const find = (request: FastifyRequest): Sandbox => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return sandbox
  }
  const until = (request: FastifyRequest, reply: FastifyReply) => AbortSignal.any([hangUpOf(request, reply), stopping])

  server.post('/v1/sandboxes/:id/code', async (request, reply) => {
    const sandbox = find(request)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    return runCode(sandbox, parseBody(codeBody, request.body), request, reply, stopping)
  })
  server.get(CONTEXTS, async (request, reply): Promise<CodeContext[]> => {
    const asked = { method: 'GET', path: '/contexts', signal: until(request, reply) } as const
    return askForJson(find(request), asked, z.array(codeContext))
  })
  server.post(CONTEXTS, async (request, reply): Promise<CodeContext> => {
    const sandbox = find(request)
    const body = parseBody(newCodeContext, request.body)
    const asked = { method: 'POST', path: '/contexts', body, signal: until(request, reply) } as const
    const context = await askForJson(sandbox, asked, codeContext)
    void reply.code(201)
    return context
  })
  server.delete(`${CONTEXTS}/:context`, async (request, reply) => {
    const sandbox = find(request)
    const asked = { method: 'DELETE', path: `/contexts/${contextOf(request)}`, signal: until(request, reply) } as const
    await askForJson(sandbox, asked, z.unknown())
    return reply.code(204).send()
  })
  for (const action of ['restart', 'interrupt'] as const) {
    server.post(`${CONTEXTS}/:context/${action}`, async (request, reply): Promise<CodeContext> => {
      const sandbox = find(request)
      const path = `/contexts/${contextOf(request)}/${action}`
      return askForJson(sandbox, { method: 'POST', path, body: {}, signal: until(request, reply) }, codeContext)
    })
  }
}

/**
 * `POST /v1/sandboxes/{id}/code`: events as the code writes them. Errors at the start are HTTP errors, before the stream.
 * If the caller disconnects or the time is over, the agent closes its connection to the guest, which interrupts the code.
 */
async function runCode(
  sandbox: Sandbox,
  { code, language, context_id, env, timeout_seconds: seconds }: CodeBody,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): Promise<FastifyReply> {
  const startedAt = performance.now()
  const timeout = new AbortController()
  const timer = seconds === undefined ? undefined : setTimeout(() => timeout.abort(), seconds * 1000)
  const signal = AbortSignal.any([hangUpOf(request, reply), stopping, timeout.signal])
  const late = () => `code timeout after ${seconds}s`
  try {
    const body = { code, language, context_id, env_vars: env }
    const answer = await execute(sandbox, body, signal).catch((error: unknown) => {
      if (timeout.signal.aborted) throw new ApiError('commandTimeout', { error: late() }, { cause: error })
      if (stopping.aborted) throw new ApiError('shuttingDown', {}, { cause: error })
      throw error
    })
    const stream = new PushedEvents(reply)
    try {
      await passOn(parseCodeLines(answer), stream, startedAt)
    } catch (error) {
      stream.write('error', { error: reasonOf(error, { sandbox, late, timeout: timeout.signal, stopping }) })
    }
    answer.destroy()
    stream.end()
    return reply
  } finally {
    clearTimeout(timer)
  }
}

interface Circumstances {
  readonly sandbox: Sandbox
  readonly late: () => string
  readonly timeout: AbortSignal
  readonly stopping: AbortSignal
}

function reasonOf(error: unknown, { sandbox, late, timeout, stopping }: Circumstances): string {
  if (timeout.aborted) return late()
  if (stopping.aborted) return 'the code was stopped'
  if (error instanceof InvalidCodeLine) return `the code interpreter gave an invalid answer: ${error.message}`
  return notRunningReason(sandbox)
}

async function passOn(lines: AsyncIterable<CodeLine>, stream: PushedEvents, startedAt: number): Promise<void> {
  let count = 0
  let drained = Promise.withResolvers<void>()
  const goOn = () => {
    drained.resolve()
    drained = Promise.withResolvers()
  }
  stream.onDrain(goOn)
  void stream.closed.then(goOn)
  for await (const { type, ...data } of lines) {
    if (type === 'stdout' || type === 'stderr') stream.write(type, { chunk: (data as { text: string }).text })
    else if (type === 'result' || type === 'error') stream.write(type, data)
    else if (type === 'number_of_executions') count = (data as { execution_count: number }).execution_count
    else if (type === 'end_of_execution') {
      stream.write('end', { execution_count: count, duration_ms: Math.round(performance.now() - startedAt) })
    }
    // A slow reader holds back the code.
    if (stream.isFull) await drained.promise
  }
}

function contextOf(request: FastifyRequest): string {
  const parsed = contextPath.safeParse(request.params)
  if (!parsed.success) throw new ApiError('notFound', { detail: 'no such context' })
  return parsed.data.context
}
