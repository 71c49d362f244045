import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { parsePort } from '@offshoot/contract/port'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { dialPort } from '../sandbox/ports/dial-port.ts'
import { joinConnection } from '../sandbox/ports/join-connection.ts'
import { ownSandbox } from './request/require-credential.ts'

const AGREED = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`

/**
 * `GET /v1/sandboxes/{id}/ports/{port}/stream`: a TCP connection to that port inside the sandbox, which is woken for it.
 * Refused before the upgrade: 404, 409 paused, 429 too many, 502 nothing listens there.
 */
export function getPortStream(server: FastifyInstance, { host, stopping }: Agent): void {
  const options = { exposeHeadRoute: false, config: { isForEdge: true } }
  server.get('/v1/sandboxes/:id/ports/:port/stream', options, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const port = parsePort((request.params as { port: string }).port)
    if (port === null) throw new ApiError('notFound')
    const upgrade = upgradeOf(request.raw)
    if (upgrade === undefined || request.headers.upgrade?.toLowerCase() !== PORT_STREAM_PROTOCOL) {
      throw new ApiError('upgradeRequired', { detail: `this route speaks ${PORT_STREAM_PROTOCOL}` })
    }
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const connection = await dialPort(sandbox, port)
    if (request.raw.socket.destroyed) {
      connection.abort()
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    reply.hijack()
    const socket = upgrade.take()
    socket.write(AGREED)
    joinConnection({ socket, head: upgrade.head }, connection, stopping)
    return reply
  })
}
