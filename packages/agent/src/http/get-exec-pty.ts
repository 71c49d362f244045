import { ApiError } from '@offshoot/contract/errors'
import { terminalQuery } from '@offshoot/contract/terminal'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { openTerminal } from '../sandbox/terminals/terminal.ts'
import { serveTerminal } from './streams/serve-terminal-socket.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'
import { AcceptedSocket, requireUpgrade, RESTARTING } from './streams/accept-web-socket.ts'

/** `GET /v1/sandboxes/{id}/exec/pty`: a terminal on a WebSocket. What cannot start is refused before the upgrade. */
export function getExecPty(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/exec/pty', { exposeHeadRoute: false }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    requireUpgrade(reply)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const terminal = await openTerminal(sandbox, parseBody(terminalQuery, request.query))
    if (request.raw.socket.destroyed) {
      terminal.leave()
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    const socket = AcceptedSocket.accept(reply)
    const stop = () => socket.close(RESTARTING, 'shutting down')
    stopping.addEventListener('abort', stop, { once: true })
    await serveTerminal(sandbox, terminal, socket)
    stopping.removeEventListener('abort', stop)
    return reply
  })
}
