import { ApiError } from '@offshoot/contract/errors'
import { execBody } from '@offshoot/contract/exec'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { type CommandOutcome, failureOf, StreamedCommand } from '../sandbox/commands/streamed-command.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { ownSandbox } from './request/require-credential.ts'
import { PushedEvents } from './streams/push-events.ts'
import { parseBody } from './request/parse-body.ts'

/**
 * `POST /v1/sandboxes/{id}/exec/stream`: output as it is written. What cannot start is refused before the stream begins;
 * a caller that hangs up kills its command, one that is slow holds it back.
 */
export function postExecStream(server: FastifyInstance, { host, stopping }: Agent): void {
  server.post('/v1/sandboxes/:id/exec/stream', async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const body = parseBody(execBody, request.body)
    if (body.background) throw new ApiError('invalidField', { error: 'background is for exec alone' })
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
