import {
  type BackgroundExec,
  type BackgroundStarted,
  resizeBody,
  signalBody,
  stdinBody,
  waitQuery,
} from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import { execBody, type ExecResult } from '@offshoot/contract/exec'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import {
  findBackground,
  listBackground,
  removeBackground,
  resizeBackground,
  signalBackground,
  startBackground,
  startFollowed,
  waitForBackground,
  writeToBackground,
} from '../sandbox/commands/background.ts'
import { bytesOf } from '../sandbox/commands/chunk-encoder.ts'
import { execInSandbox } from '../sandbox/commands/exec.ts'
import { type CommandOutcome, failureOf, StreamedCommand } from '../sandbox/commands/streamed-command.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { deliver } from './follow-exec.ts'
import { hangUpOf } from './request/hang-up-of.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'
import { PushedEvents } from './streams/push-events.ts'

/** `POST /v1/sandboxes/{id}/exec`. The agent kills the command if the caller disconnects. */
export function postExec(server: FastifyInstance, { host, stopping }: Agent): void {
  server.post('/v1/sandboxes/:id/exec', async (request, reply): Promise<ExecResult | BackgroundStarted> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const body = parseBody(execBody, request.body)
    if (body.background) {
      void reply.code(201)
      return startBackground(sandbox, body)
    }
    return execInSandbox(sandbox, body, AbortSignal.any([hangUpOf(request, reply), stopping]))
  })
}

/**
 * `POST /v1/sandboxes/{id}/exec/stream`: output as the command writes it. Errors at its start are HTTP errors, before the
 * stream. The agent kills the command if the caller disconnects; a slow caller applies backpressure to the command. A
 * background command goes on without its caller.
 */
export function postExecStream(server: FastifyInstance, { host, stopping }: Agent): void {
  server.post('/v1/sandboxes/:id/exec/stream', async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const body = parseBody(execBody, request.body)
    if (body.background) {
      const { started, attachment } = await startFollowed(sandbox, body)
      const stream = new PushedEvents(reply)
      stream.write('started', started)
      const followed = { sandbox, execId: started.exec_id, from: 0, encoding: body.encoding, stopping }
      await deliver(stream, attachment, followed)
      return reply
    }
    const command = await StreamedCommand.start(sandbox, body, false)
    const stream = new PushedEvents(reply)
    command.deliver((name, chunk) => {
      stream.write(name, { chunk })
      if (stream.isFull) command.pause()
    })
    stream.onDrain(() => command.resume())
    const abandon = () => command.abandon()
    void stream.closed.then(abandon)
    stopping.addEventListener('abort', abandon, { once: true })
    const outcome = await command.ended
    stopping.removeEventListener('abort', abandon)
    writeOutcome(stream, outcome, sandbox, stopping.aborted)
    stream.end()
    return reply
  })
}

function writeOutcome(stream: PushedEvents, outcome: CommandOutcome, sandbox: Sandbox, isStopping: boolean): void {
  if (outcome.kind === 'exit') {
    stream.write('exit', { exit_code: outcome.exitCode, duration_ms: outcome.durationMs })
  } else {
    stream.write('error', { error: isStopping ? 'the command was stopped' : failureOf(outcome, sandbox) })
  }
}

/** `/v1/sandboxes/{id}/execs…`: background commands. `follow-exec.ts` streams their output. */
export function execRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
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
    const { exec_id: id } = await findBackground(sandbox, execId)
    await signalBackground(sandbox, id, signal)
    return findBackground(sandbox, id)
  })
  server.post('/v1/sandboxes/:id/execs/:execId/stdin', async (request, reply): Promise<BackgroundExec> => {
    const { sandbox, execId } = find(request)
    const { stdin, encoding, eof = false } = parseBody(stdinBody, request.body)
    const input = { bytes: bytesOf(stdin, encoding), isEnd: eof }
    await writeToBackground(sandbox, execId, input, AbortSignal.any([hangUpOf(request, reply), stopping]))
    return findBackground(sandbox, execId)
  })
  server.post('/v1/sandboxes/:id/execs/:execId/resize', async (request): Promise<BackgroundExec> => {
    const { sandbox, execId } = find(request)
    await resizeBackground(sandbox, execId, parseBody(resizeBody, request.body))
    return findBackground(sandbox, execId)
  })
  server.get('/v1/sandboxes/:id/execs/:execId/wait', async (request, reply): Promise<BackgroundExec> => {
    const { sandbox, execId } = find(request)
    const { timeout_seconds: seconds } = parseBody(waitQuery, request.query)
    return waitForBackground(sandbox, execId, seconds, AbortSignal.any([hangUpOf(request, reply), stopping]))
  })
  server.delete('/v1/sandboxes/:id/execs/:execId', async (request, reply) => {
    const { sandbox, execId } = find(request)
    const { exec_id: id } = await findBackground(sandbox, execId)
    await removeBackground(sandbox, id)
    return reply.code(204).send()
  })
}
