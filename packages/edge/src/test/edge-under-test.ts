import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { edgeConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { pino } from 'pino'
import { type Edge, startEdge } from '../edge.ts'
import { FakeAgent } from './fake-agent.ts'

export interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly trailers: IncomingMessage['trailers']
  readonly body: string
}

/** An edge in this process, with one agent that has one sandbox, and possibly others. */
export class EdgeUnderTest {
  readonly id: string
  readonly agent: FakeAgent
  readonly edge: Edge
  readonly port: number
  readonly #folder: string

  private constructor(agent: FakeAgent, edge: Edge, port: number, folder: string, id: string) {
    this.agent = agent
    this.edge = edge
    this.port = port
    this.#folder = folder
    this.id = id
  }

  static async start(
    limits: Record<string, number> = {},
    options: Record<string, unknown> = {},
    others: readonly FakeAgent[] = [],
  ): Promise<EdgeUnderTest> {
    const agent = await FakeAgent.start()
    const id = randomUUID()
    agent.add(id)
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-edge-'))
    const config = edgeConfig.parse({
      listen: { host: '127.0.0.1', port: 1 },
      suffix: 'localhost',
      agents: [agent, ...others].map(({ url, secret }) => ({ url, secret })),
      data_dir: folder,
      log_level: 'silent',
      limits,
      ...options,
    })
    const edge = await startEdge(config, pino({ level: 'silent' }))
    edge.front.server.listen(0, '127.0.0.1')
    await once(edge.front.server, 'listening')
    const { port } = edge.front.server.address() as AddressInfo
    await until('the edge to follow', () => agent.followers === 1)
    return new EdgeUnderTest(agent, edge, port, folder, id)
  }

  host(port: number, id = this.id): string {
    return `${port}-${id}.localhost:${this.port}`
  }

  get folder(): string {
    return this.#folder
  }

  /** Resolves at the head of the answer; the caller reads the body. */
  async open(
    port: number,
    path = '/',
    { headers = {}, body, ...rest }: RequestOptions & { readonly body?: string | Buffer } = {},
  ): Promise<IncomingMessage> {
    const all = { host: this.host(port), ...(headers as Record<string, string>) }
    const options = { host: '127.0.0.1', port: this.port, path, headers: all, agent: false as const }
    const request = httpRequest({ ...options, ...rest })
    request.end(body)
    const [response] = (await patience('an answer').race(once(request, 'response'))) as [IncomingMessage]
    return response
  }

  async ask(port: number, path = '/', options: Parameters<EdgeUnderTest['open']>[2] = {}): Promise<Answered> {
    const response = await this.open(port, path, options)
    const body = await patience('a body').race(text(response))
    const { statusCode: status = 0, headers, rawHeaders, trailers } = response
    return { status, headers, rawHeaders, trailers, body }
  }

  /** Sends raw bytes. Returns all bytes received until the edge closes the connection. */
  async raw(...pieces: readonly (string | Buffer)[]): Promise<string> {
    const socket = this.connect()
    for (const piece of pieces) socket.write(piece)
    return patience('the end of the connection').race(text(socket))
  }

  connect(): Socket {
    return connect({ host: '127.0.0.1', port: this.port }).on('error', () => undefined)
  }

  async stop(): Promise<void> {
    this.edge.front.close()
    this.edge.endUpgraded()
    this.edge.front.closeNow()
    await this.edge.stop()
    await this.agent.kill()
    await rm(this.#folder, { recursive: true })
  }
}

/** A limit that only a failing test reaches, even on a busy machine. */
export const patience = (what: string) => Deadline.after(30_000, what)

export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = patience(what)
  while (!(await condition())) {
    deadline.throwIfOver()
    await wait(5)
  }
}
