import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

/** A receiver of webhooks. Each path has its own answers; the default is 200. */
export class WebhookReceiver {
  readonly received: Received[] = []
  /** By path. A function decides for each request, and may leave it without an answer. */
  readonly answers = new Map<string, number | ((response: ServerResponse, nth: number) => void)>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(host = '127.0.0.1', port = 0): Promise<WebhookReceiver> {
    const server = createServer()
    const receiver = new WebhookReceiver(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        const path = request.url ?? ''
        receiver.received.push({ path, headers: request.headers, body, json: JSON.parse(body) })
        const answer = receiver.answers.get(path) ?? 200
        if (typeof answer === 'function') answer(response, receiver.at(path).length)
        else response.writeHead(answer).end(`answer ${answer}`)
      })
    })
    await once(server.listen(port, host), 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  at(path: string): Received[] {
    return this.received.filter((each) => each.path === path)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
