import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { EdgeUnderTest } from './edge-under-test.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown
const ok: Answer = (_request, response) => response.end('ok')

/** An edge with a real HTTP server behind it, for the tests of one file. Each test sets the server's answer. */
export class ServedEdge {
  answer: Answer = ok
  edge!: EdgeUnderTest
  port = 0
  server!: Server
  readonly #bare: TcpServer[] = []

  /** A TCP server that sends whatever bytes a test needs. */
  async bareServer(onConnection: (socket: Socket) => void): Promise<number> {
    const tcp = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      onConnection(socket)
    })
    this.#bare.push(tcp)
    return listen(tcp)
  }

  /** A server that answers its first bytes with these. */
  saying(bytes: string | Buffer): Promise<number> {
    return this.bareServer((socket) => void socket.once('data', () => socket.end(bytes)))
  }

  async start(): Promise<void> {
    this.edge = await EdgeUnderTest.start({ concurrent: 50 })
    this.server = createServer((request, response) => void this.#answer(request, response))
    this.port = await listen(this.server)
  }

  async stop(): Promise<void> {
    await this.edge.stop()
    this.server.closeAllConnections()
    this.server.close()
  }

  closeBare(): void {
    for (const each of this.#bare.splice(0)) each.close()
  }

  reset(): void {
    this.answer = ok
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.answer(request, response)
    } catch {
      // The request was aborted.
      response.destroy()
    }
  }
}

export function serveEdge(): ServedEdge {
  const served = new ServedEdge()
  beforeAll(() => served.start())
  afterAll(() => served.stop())
  beforeEach(() => served.reset())
  afterEach(() => served.closeBare())
  return served
}

async function listen(on: Server | TcpServer): Promise<number> {
  on.listen(0, '127.0.0.1')
  await once(on, 'listening')
  return (on.address() as AddressInfo).port
}
