import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ClientOptions } from '../http/transport.ts'

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Answer = (response: ServerResponse, request: Received) => void

/** Answers with JSON. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Ends the connection without an answer. */
export const hangUp: Answer = (response) => response.destroy()

/** A real HTTP server that gives one answer after the other; the last one again and again. */
export class ScriptedServer {
  readonly received: Received[] = []
  answers: Answer[] = []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const received = { method, url, headers, body: await text(request) }
    this.received.push(received)
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0]
    answer?.(response, received)
  }

  static async start(): Promise<ScriptedServer> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new ScriptedServer(server)
  }

  /** From now on these answers. Forgets what was received. */
  script(...answers: Answer[]): void {
    this.answers = answers
    this.received.length = 0
  }

  get options(): ClientOptions {
    return { baseUrl: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`, apiKey: 'ofs_test' }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
