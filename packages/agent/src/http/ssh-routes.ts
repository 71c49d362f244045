import { PassThrough } from 'node:stream'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { ApiError } from '@offshoot/contract/errors'
import {
  SSH_STREAM_PROTOCOL,
  sshAcceptPath,
  sshAddressQuery,
  sshCommandPath,
  sshConnectPath,
  type SshListenEvent,
  sshListenPath,
} from '@offshoot/contract/ssh-stream'
import type { GuestListener } from '@offshoot/guest-link/guest-connection'
import { type HttpUpgrade, upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { runningVm } from '../sandbox/model/guest-access.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { AcceptedConnections } from '../sandbox/ssh/accepted-connections.ts'
import { connectFrom, listenIn } from '../sandbox/ssh/ssh-connections.ts'
import { joinConnection } from './join-connection.ts'
import { parseQuery } from './request/parse-query.ts'
import { ownSandbox } from './request/require-credential.ts'
import { SshCommand } from './streams/serve-ssh-command.ts'

const options = { exposeHeadRoute: false, config: { isForSsh: true } }

/** The routes that a grant for an SSH session opens, for one sandbox. Every one wakes the sandbox. */
export function sshRoutes(server: FastifyInstance, agent: Agent): void {
  const { host, stopping } = agent
  const accepted = new AcceptedConnections()

  server.get(sshCommandPath(':id'), options, async (request, reply) => {
    const sandbox = await awake(agent, request)
    const upgrade = upgradeTo(SSH_STREAM_PROTOCOL, request)
    const socket = take(reply, upgrade, SSH_STREAM_PROTOCOL)
    const command = SshCommand.serve(sandbox, socket, upgrade.head, host.log)
    const stop = () => command.close()
    stopping.addEventListener('abort', stop, { once: true })
    socket.once('close', () => stopping.removeEventListener('abort', stop))
    return reply
  })

  server.get(sshConnectPath(':id'), options, async (request, reply) => {
    const sandbox = await awake(agent, request)
    const upgrade = upgradeTo(PORT_STREAM_PROTOCOL, request)
    const { address, port } = parseQuery(sshAddressQuery, request)
    const connection = await connectFrom(sandbox, address, port)
    if (request.raw.socket.destroyed) {
      connection.abort()
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    const socket = take(reply, upgrade, PORT_STREAM_PROTOCOL)
    joinConnection({ socket, head: upgrade.head }, connection, stopping)
    return reply
  })

  server.get(sshListenPath(':id'), options, async (request, reply) => {
    const sandbox = await awake(agent, request)
    const { address, port } = parseQuery(sshAddressQuery, request)
    const listener = await listenIn(sandbox, address, port)
    const body = new PassThrough()
    const stop = () => {
      listener.close()
      body.end()
    }
    stopping.addEventListener('abort', stop, { once: true })
    reply.raw.once('close', () => {
      stopping.removeEventListener('abort', stop)
      stop()
    })
    if (request.raw.socket.destroyed) stop()
    void announce(listener, sandbox, accepted, body)
    return reply.type('application/x-ndjson').send(body)
  })

  server.get(sshAcceptPath(':id', ':connection'), options, async (request, reply) => {
    const sandbox = await awake(agent, request)
    const upgrade = upgradeTo(PORT_STREAM_PROTOCOL, request)
    const { connection: id } = request.params as { connection: string }
    const connection = accepted.take(sandbox, id)
    if (connection === null) throw new ApiError('notFound')
    const socket = take(reply, upgrade, PORT_STREAM_PROTOCOL)
    joinConnection({ socket, head: upgrade.head }, connection, stopping)
    return reply
  })
}

/** @throws ApiError 404 for another sandbox, 409 paused, 503 while the agent stops */
async function awake({ host, stopping }: Agent, request: FastifyRequest): Promise<Sandbox> {
  const sandbox = ownSandbox(host.sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  if (stopping.aborted) throw new ApiError('shuttingDown')
  await runningVm(sandbox)
  return sandbox
}

function upgradeTo(protocol: string, request: FastifyRequest): HttpUpgrade {
  const upgrade = upgradeOf(request.raw)
  if (upgrade !== undefined && request.headers.upgrade?.toLowerCase() === protocol) return upgrade
  throw new ApiError('upgradeRequired', { detail: `this route speaks ${protocol}` })
}

function take(reply: FastifyReply, upgrade: HttpUpgrade, protocol: string) {
  if (reply.request.raw.socket.destroyed) throw new ApiError('invalidField', { error: 'the caller hung up' })
  reply.hijack()
  return upgrade.accept(['connection', 'Upgrade', 'upgrade', protocol])
}

/** Tells the edge of each connection, until the listener ends. */
async function announce(
  listener: GuestListener,
  sandbox: Sandbox,
  accepted: AcceptedConnections,
  body: PassThrough,
): Promise<void> {
  const tell = (event: SshListenEvent) => body.write(`${JSON.stringify(event)}\n`)
  tell({ kind: 'listening', port: listener.port })
  for await (const connection of listener.connections) {
    const id = body.writable ? accepted.add(sandbox, connection) : null
    if (id === null) connection.abort()
    else tell({ kind: 'connection', id, address: connection.peer?.address ?? '', port: connection.peer?.port ?? 0 })
  }
  body.end()
}
