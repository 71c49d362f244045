/** Speaks the agent's HTTP API to the edge. Ports of its sandboxes are ports of this host. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import { ADMITTED_HEADER } from '@offshoot/contract/port-stream'
import { EDGE_NAME } from '@offshoot/contract/fleet-identity'
import { admitPeers, resetConnection, TLS_OPTIONS, type TlsIdentity } from '@offshoot/kit/mutual-tls'
import { jwtVerify } from 'jose'

export class FakeAgent {
  readonly secret = randomBytes(32).toString('base64')
  readonly sandboxes = new Map<string, AgentSandbox>()
  /** Number of requested port streams, including refused ones. */
  opened = 0
  /** Sandboxes that a stored copy keeps from waking. */
  readonly held = new Set<string>()
  /** Called before each stream. A status refuses the stream. */
  onOpen: (id: string, port: number) => Promise<number | null> | number | null = () => null
  readonly #followers = new Set<ServerResponse>()
  readonly #sockets = new Set<Duplex>()
  /** Streams for visitors whom the edge has not admitted, by sandbox. */
  readonly #unadmitted = new Map<Duplex, string>()
  /** Ids of sandboxes that the edge queried one by one. */
  readonly asked: string[] = []
  /** Awaited before the answer to such a query. */
  onAsk: () => Promise<void> | void = () => undefined
  #server: Server | undefined
  #seq = 0
  #port = 0

  /** With a certificate the agent speaks TLS to edges only. */
  #tls: TlsIdentity | undefined

  static async start(tls?: TlsIdentity): Promise<FakeAgent> {
    const agent = new FakeAgent()
    agent.#tls = tls
    await agent.listen()
    return agent
  }

  get url(): string {
    return `${this.#tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`
  }

  /** Can be called again after {@link kill}; it then uses the same address. */
  async listen(): Promise<void> {
    const answer = (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response)
    const server = this.#tls === undefined ? createServer(answer) : serveTls(this.#tls, answer)
    server.on('upgrade', (request, socket, head) => void this.#open(request, socket as Socket, head))
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  /** Like kill -9: closes every connection, and keeps the state. */
  async kill(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    this.#followers.clear()
    server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }

  /** From now on a machine with another certificate has its address. */
  async replace(tls: TlsIdentity): Promise<void> {
    await this.kill()
    this.#tls = tls
    await this.listen()
  }

  add(id: string, status?: AgentSandbox['status'], visibility?: AgentSandbox['visibility']): void {
    const before = this.sandboxes.get(id)
    const fixed = {
      workspace_id: id,
      template: 'base',
      boot_ms: 1,
      boot_mode: null,
      guest_ip: null,
      cpu: 1,
      memory_mb: 512,
    }
    const origin = { from_snapshot: null, parent_id: null, fork_tree_id: null }
    const shown = {
      status: status ?? before?.status ?? 'running',
      visibility: visibility ?? before?.visibility ?? 'public',
    }
    this.sandboxes.set(id, { id, ...shown, ...fixed, ...origin, last_seq: this.#seq })
  }

  /** Appends an event to the log and sends it to all followers. */
  say(id: string, type: EventType, status?: AgentSandbox['status'], metadata: Record<string, unknown> = {}): void {
    this.#seq += 1
    if (type === 'sandbox.deleted') this.sandboxes.delete(id)
    else if (status !== undefined) this.add(id, status)
    const ts = new Date().toISOString()
    const event = { ts, sandbox_id: id, agent_id: 'a', type, code: 'ok', message: '', metadata }
    const record = { seq: this.#seq, number: this.#seq, workspace_id: id, event }
    for (const response of this.#followers) {
      response.write(`id: ${this.#seq}\nevent: record\ndata: ${JSON.stringify(record)}\n\n`)
    }
  }

  /** As a real agent does: refuses and ends visitors whom the edge has not admitted. @param says with an event */
  setVisibility(id: string, visibility: AgentSandbox['visibility'], says = true): void {
    this.add(id, undefined, visibility)
    if (visibility === 'private') for (const [socket, of] of this.#unadmitted) if (of === id) socket.destroy()
    if (says) this.say(id, 'sandbox.visibility_changed', undefined, { visibility })
  }

  get followers(): number {
    return this.#followers.size
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await this.#isEdge(request))) return refuse(response, 401)
    const [, id] = /^\/v1\/sandboxes\/([^/]+)$/.exec(request.url ?? '') ?? []
    if (id !== undefined) {
      this.asked.push(id)
      await this.onAsk()
    }
    if (request.url === '/v1/sandboxes') {
      answerJson(response, { last_seq: this.#seq, sandboxes: [...this.sandboxes.values()] })
    } else if (request.url?.startsWith('/v1/agent/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n')
      this.#followers.add(response)
      response.once('close', () => this.#followers.delete(response))
    } else if (id !== undefined && this.sandboxes.has(id)) answerJson(response, this.sandboxes.get(id))
    else refuse(response, 404)
  }

  async #open(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    this.opened += 1
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket)).on('error', () => undefined)
    const [, id = '', port = ''] = /^\/v1\/sandboxes\/([^/]+)\/ports\/(\d+)\/stream$/.exec(request.url ?? '') ?? []
    const isKnown = (await this.#isEdge(request)) && this.sandboxes.has(id)
    const isAdmitted = request.headers[ADMITTED_HEADER] !== undefined
    const isClosed = !isAdmitted && this.sandboxes.get(id)?.visibility === 'private'
    const refusal = isKnown ? ((await this.onOpen(id, Number(port))) ?? (isClosed ? 403 : null)) : 404
    if (refusal === null && this.held.has(id)) {
      const text = JSON.stringify({ error: 'sandbox is moving to another host' })
      socket.end(`HTTP/1.1 409 No\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`)
      return
    }
    if (refusal !== null) {
      socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`)
      return
    }
    if (!isAdmitted) this.#unadmitted.set(socket, id)
    socket.once('close', () => this.#unadmitted.delete(socket))
    const inside = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    inside.once('error', () => {
      if (inside.connecting || inside.bytesWritten + inside.bytesRead === 0)
        socket.end('HTTP/1.1 502 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}')
      else resetConnection(socket)
    })
    inside.once('connect', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: offshoot-tcp\r\n\r\n')
      if (head.length > 0) inside.write(head)
      socket.pipe(inside)
      inside.pipe(socket)
      socket.once('close', () => inside.destroy())
    })
  }

  async #isEdge({ headers }: IncomingMessage): Promise<boolean> {
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    const key = Buffer.from(this.secret, 'base64')
    const verified = await jwtVerify(token, key, { algorithms: ['HS256'] }).catch(() => null)
    return verified?.protectedHeader.kid === 'edge'
  }
}

function serveTls(tls: TlsIdentity, answer: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const both = { requestCert: true, rejectUnauthorized: true, ...TLS_OPTIONS }
  const server = createTlsServer({ ...tls, ...both }, answer)
  admitPeers(server, [EDGE_NAME])
  return server
}

function answerJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status).end('{}')
}
