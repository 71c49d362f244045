import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { ACME_CHALLENGE } from '@offshoot/contract/edge-app'
import type { Logger } from 'pino'
import type { Queryable } from '../../../platform/db/statement.ts'
import { ownAcmeAnswer } from './own-certificate-statements.ts'

/** Concurrent queries. Anyone can send requests with made-up tokens. */
const MAX_QUERIES = 8
/** Limits of a connection: nobody sends more than the head of a request here. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 1_000, maxHeaderSize: 16 * 1024 }
const MAX_CONNECTIONS = 256

export interface ChallengeListenerOptions {
  readonly host: string
  readonly port: number
  /** The name that the authority validates. */
  readonly name: string
  readonly publicUrl: string
  readonly pool: Queryable
  readonly log: Logger
}

/**
 * Answers the ACME authority when it validates the API's own name over HTTP. Sends browsers to the address with TLS, and
 * serves nothing else, because credentials must not travel without TLS.
 */
export class ChallengeListener {
  readonly #server: Server
  readonly #options: ChallengeListenerOptions
  #queries = 0

  private constructor(options: ChallengeListenerOptions) {
    this.#options = options
    this.#server = createServer(LIMITS, (request, response) => void this.#handle(request, response))
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  /** @throws Error if the address is taken */
  static async start(options: ChallengeListenerOptions): Promise<ChallengeListener> {
    const listener = new ChallengeListener(options)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    listener.#server.once('error', reject)
    listener.#server.listen(options.port, options.host, resolve)
    await promise
    options.log.info({ address: listener.#server.address() }, 'answering the ACME authority')
    return listener
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #handle({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method !== 'GET' && method !== 'HEAD') return answer(response, 403, 'https only\n')
    const token = ACME_CHALLENGE.exec(url)?.[1]
    if (token !== undefined) return this.#answerChallenge(token, response)
    // A target that is no path, such as that of a request to a proxy, must not become a part of the host name.
    const path = url.startsWith('/') ? url : '/'
    response.setHeader('location', this.#options.publicUrl + path)
    answer(response, 308, '')
  }

  async #answerChallenge(token: string, response: ServerResponse): Promise<void> {
    if (this.#queries >= MAX_QUERIES) return answer(response, 503, '')
    this.#queries += 1
    const { pool, name, log } = this.#options
    const rows = await ownAcmeAnswer(pool, name, token).catch((error: unknown) => {
      log.warn({ err: error }, 'an ACME challenge was not answered')
      return null
    })
    this.#queries -= 1
    if (rows === null) return answer(response, 503, '')
    answer(response, rows[0] === undefined ? 404 : 200, rows[0]?.answer ?? '')
  }
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
