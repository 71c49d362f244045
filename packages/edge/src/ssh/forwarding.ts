/** Forwarded TCP connections, in both directions (RFC 4254, 7). */
import { type ClientRequest, request as httpRequest } from 'node:http'
import { once } from 'node:events'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import {
  sshAcceptPath,
  sshConnectPath,
  sshListenEvent,
  type SshListenEvent,
  sshListenPath,
} from '@offshoot/contract/ssh-stream'
import { createInterface } from 'node:readline'
import type { IncomingMessage } from 'node:http'
import type { Connection, ServerChannel, TcpipBindInfo, TcpipRequestInfo } from 'ssh2'
import { PortRefused } from '../agents/open-upgrade.ts'
import type { ClientSocket } from './client-socket.ts'
import { joinChannel } from './join-channel.ts'
import { agentOf, openInSandbox, type SandboxDoor, SandboxRefused, sentenceOf } from './open-in-sandbox.ts'

/** Ports of a sandbox that one client may listen on. */
const MAX_LISTENERS = 32
/** Maximum characters of a refusal. */
const MAX_REFUSAL_CHARS = 16 * 1024

export interface ForwardingOptions {
  readonly door: SandboxDoor
  readonly client: ClientSocket
  readonly connection: Connection
  /** Counts a channel; `null` if the client has too many. */
  readonly takeChannel: () => (() => void) | null
}

export class Forwarding {
  readonly #options: ForwardingOptions
  readonly #listeners = new Map<string, ClientRequest>()

  constructor(options: ForwardingOptions) {
    this.#options = options
    options.client.onClose(() => this.#closeAll())
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** The client wants a connection from the sandbox to an address. @throws SandboxRefused, Error */
  async connect({ destIP, destPort }: TcpipRequestInfo, accept: () => ServerChannel | undefined): Promise<void> {
    const { door, client } = this.#options
    const query = new URLSearchParams({ address: destIP, port: String(destPort) })
    const path = `${sshConnectPath(door.client.sandboxId)}?${query.toString()}`
    const inside = await openInSandbox(door, { path, protocol: PORT_STREAM_PROTOCOL })
    const channel = client.isClosed ? undefined : accept()
    if (channel === undefined) inside.destroy()
    else await joinChannel(channel, client, inside)
  }

  /**
   * The client wants connections to a port of the sandbox.
   * @returns the port. @throws SandboxRefused, Error
   */
  async listen({ bindAddr, bindPort }: TcpipBindInfo): Promise<number> {
    if (this.#listeners.size >= MAX_LISTENERS) throw new SandboxRefused(`more than ${MAX_LISTENERS} forwarded ports`)
    const { door, client } = this.#options
    const agent = await agentOf(door)
    const query = new URLSearchParams({ address: bindAddr || '*', port: String(bindPort) })
    const request = httpRequest(`${agent.url}${sshListenPath(door.client.sandboxId)}?${query.toString()}`, {
      agent: false,
      headers: { authorization: `Bearer ${await door.client.grant()}` },
      timeout: door.wakeMs,
    })
    request.once('timeout', () => request.destroy(new Error('the agent does not answer')))
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    request.setTimeout(0)
    if (response.statusCode !== 200) throw new SandboxRefused(sentenceOf(await refusalOf(response)))
    const events = createInterface({ input: response })[Symbol.asyncIterator]()
    const first = await nextEvent(events)
    if (first?.kind !== 'listening' || client.isClosed) {
      request.destroy()
      throw new SandboxRefused('the sandbox does not listen')
    }
    const key = keyOf({ bindAddr, bindPort: first.port })
    this.#listeners.set(key, request)
    void this.#follow(events, { bindAddr, bindPort: first.port })
      .catch(() => undefined)
      .finally(() => {
        request.destroy()
        if (this.#listeners.get(key) === request) this.#listeners.delete(key)
      })
    return first.port
  }

  /** @returns false if the client has not asked for this port */
  cancel(info: TcpipBindInfo): boolean {
    const request = this.#listeners.get(keyOf(info))
    this.#listeners.delete(keyOf(info))
    request?.destroy()
    return request !== undefined
  }

  #closeAll(): void {
    for (const request of this.#listeners.values()) request.destroy()
    this.#listeners.clear()
  }

  async #follow(events: AsyncIterator<string>, bound: TcpipBindInfo): Promise<void> {
    for (let event = await nextEvent(events); event !== null; event = await nextEvent(events)) {
      if (event.kind === 'connection') void this.#deliver(event, bound).catch(() => undefined)
    }
  }

  /** Opens a channel to the client, and joins it with the connection that waits at the agent. */
  async #deliver(
    { id, address, port }: Extract<SshListenEvent, { kind: 'connection' }>,
    { bindAddr, bindPort }: TcpipBindInfo,
  ): Promise<void> {
    const { door, client, connection, takeChannel } = this.#options
    const done = takeChannel()
    try {
      const path = sshAcceptPath(door.client.sandboxId, id)
      const inside = await openInSandbox(door, { path, protocol: PORT_STREAM_PROTOCOL })
      if (done === null || client.isClosed) return void inside.destroy()
      try {
        const { promise, resolve, reject } = Promise.withResolvers<ServerChannel>()
        connection.forwardOut(bindAddr, bindPort, address, port, (error, channel) => {
          if (error === undefined) resolve(channel)
          else reject(error)
        })
        await joinChannel(await promise, client, inside)
      } finally {
        inside.destroy()
      }
    } finally {
      done?.()
    }
  }
}

const keyOf = ({ bindAddr, bindPort }: TcpipBindInfo) => `${bindAddr}:${bindPort}`

async function nextEvent(events: AsyncIterator<string>): Promise<SshListenEvent | null> {
  const { value, done } = await events.next()
  return done === true ? null : sshListenEvent.parse(JSON.parse(value))
}

async function refusalOf(response: IncomingMessage): Promise<PortRefused> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    if (text.length < MAX_REFUSAL_CHARS) text += chunk
  }
  return new PortRefused(response.statusCode ?? 0, text.slice(0, MAX_REFUSAL_CHARS))
}
