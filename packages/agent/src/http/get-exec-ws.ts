import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { ExecSocket } from './streams/serve-exec-socket.ts'
import { runningVm } from '../sandbox/model/guest-access.ts'
import { ownSandbox } from './request/require-credential.ts'
import { AcceptedSocket, requireUpgrade, RESTARTING } from './streams/accept-web-socket.ts'

/** `GET /v1/sandboxes/{id}/exec/ws`: many commands on one WebSocket. */
export function getExecWs(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/exec/ws', { exposeHeadRoute: false }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    requireUpgrade(reply)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    await runningVm(sandbox)
    if (request.raw.socket.destroyed) throw new ApiError('invalidField', { error: 'the caller hung up' })
    const socket = AcceptedSocket.accept(reply)
    const commands = new ExecSocket(sandbox, socket)
    const stop = () => {
      commands.close()
      socket.close(RESTARTING, 'shutting down')
    }
    stopping.addEventListener('abort', stop, { once: true })
    void socket.closed.then(() => stopping.removeEventListener('abort', stop))
    return reply
  })
}
