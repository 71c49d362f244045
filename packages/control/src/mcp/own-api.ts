import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { readServerSentEvents, type ServerSentEvent } from '@offshoot/kit/server-sent-events'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'

const refusal = z.object({ error: z.string(), detail: z.string().optional() })

/** Our own API refused a request. The message is for the client. */
export class ApiRefused extends Error {
  override readonly name = 'ApiRefused'
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path and query. */
  readonly url: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as octets. */
  readonly body?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readable
}

/**
 * The public API, called within the process with the credential of one caller. Every call passes the same admission,
 * limits, validation and audit as one that came over the network.
 */
export class OwnApi {
  readonly #app: FastifyInstance
  readonly #request: FastifyRequest
  readonly #signal: AbortSignal

  /** @param signal ends the calls that run */
  constructor(app: FastifyInstance, request: FastifyRequest, signal: AbortSignal) {
    this.#app = app
    this.#request = request
    this.#signal = signal
  }

  /** @throws ApiRefused */
  async read<T>(schema: z.ZodType<T>, call: Call): Promise<T> {
    return schema.parse(JSON.parse((await this.bytes(call)).toString()))
  }

  /** @throws ApiRefused */
  async send(call: Call): Promise<void> {
    await this.bytes(call)
  }

  /** @throws ApiRefused */
  async bytes(call: Call): Promise<Buffer> {
    return wholeOf((await this.#open(call)).body)
  }

  /** @throws ApiRefused before the first event */
  async *events(call: Call): AsyncGenerator<ServerSentEvent> {
    const { body } = await this.#open(call)
    for await (const batch of readServerSentEvents(body as AsyncIterable<Uint8Array>)) yield* batch
  }

  async #open({ method, url, json, body, headers = {} }: Call): Promise<Answer> {
    const { authorization = '', 'x-offshoot-org': org, 'user-agent': agent } = this.#request.headers
    const answer = await this.#app.inject({
      method,
      url,
      remoteAddress: this.#request.ip,
      headers: {
        authorization,
        ...(typeof org === 'string' && { 'x-offshoot-org': org }),
        ...(agent !== undefined && { 'user-agent': agent }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { payload: JSON.stringify(json) }),
      ...(body !== undefined && { payload: body }),
      payloadAsStream: true,
    })
    this.#hangUpAtEnd(answer.raw.res)
    const stream = answer.stream()
    if (answer.statusCode < 300) return { headers: answer.headers, body: stream }
    throw new ApiRefused(messageOf(await wholeOf(stream), answer.statusCode))
  }

  /** The route then sees that its caller is gone, and ends a command. The `signal` of `inject` does not do that. */
  #hangUpAtEnd(response: ServerResponse): void {
    const hangUp = () => void response.destroy()
    if (this.#signal.aborted) hangUp()
    this.#signal.addEventListener('abort', hangUp, { once: true })
  }
}

async function wholeOf(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function messageOf(body: Buffer, status: number): string {
  try {
    const { error, detail } = refusal.parse(JSON.parse(body.toString()))
    return detail === undefined ? error : `${error}: ${detail}`
  } catch {
    return `status ${status}`
  }
}
