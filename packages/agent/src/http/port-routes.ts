import type { Socket } from 'node:net'
import type { AgentListeners } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { parsePort } from '@offshoot/contract/port'
import { ADMITTED_HEADER, PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { detectedPorts, dialPort } from '../sandbox/ports/guest-ports.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { joinConnection } from './join-connection.ts'
import { ownSandbox } from './request/require-credential.ts'

const SWITCHING = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`

/** `GET /v1/sandboxes/{id}/listeners`: asks the guest now. Empty if no guest runs. */
export function getListeners(server: FastifyInstance, { host }: Agent): void {
  server.get(
    '/v1/sandboxes/:id/listeners',
    { config: { isStatus: true } },
    async (request): Promise<AgentListeners> => {
      const sandbox = ownSandbox(host.sandboxes, request)
      if (sandbox === null) throw new ApiError('sandboxNotFound')
      return { ports: await detectedPorts(sandbox) }
    },
  )
}

/**
 * `GET /v1/sandboxes/{id}/ports/{port}/stream`: a TCP connection to that port inside the sandbox. Wakes the sandbox.
 * Errors before the upgrade: 403 private, 404, 409 paused, 429 too many connections, 502 no process listens on the port.
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
    if (isUnadmitted(sandbox, request)) throw new ApiError('previewPrivate')
    const connection = await dialPort(sandbox, port)
    if (request.raw.socket.destroyed) {
      connection.abort()
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    if (isUnadmitted(sandbox, request)) {
      // It became private while the connection was being made.
      connection.abort()
      throw new ApiError('previewPrivate')
    }
    reply.hijack()
    const socket = upgrade.take()
    socket.write(SWITCHING)
    if (request.caller.isEdge && request.headers[ADMITTED_HEADER] === undefined) endWhenPrivate(sandbox, socket)
    joinConnection({ socket, head: upgrade.head }, connection, stopping)
    return reply
  })
}

/** Whether the edge asks for a visitor whom it has not admitted. Control checks its callers itself. */
function isUnadmitted({ manifest }: Sandbox, { caller, headers }: FastifyRequest): boolean {
  return manifest.visibility === 'private' && caller.isEdge === true && headers[ADMITTED_HEADER] === undefined
}

function endWhenPrivate({ publicStreams }: Sandbox, socket: Socket): void {
  const end = () => socket.destroy()
  publicStreams.add(end)
  socket.once('close', () => publicStreams.delete(end))
}
