import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Pool, type Dispatcher } from 'undici'
import type { z } from 'zod'
import { ControlRefused, ControlUnreachable } from './control-failure.ts'

/** Milliseconds until control has answered. It waits for wakes, forks and snapshots. */
const ANSWER_MS = 360_000
/** Concurrent requests, streams included. */
const CONNECTIONS = 1024
/** Maximum bytes of an answer that is read as a whole. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface ControlRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Undefined values are left out. */
  readonly query?: Query
  /** API key, JWT or sandbox credential. */
  readonly token: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as octets. */
  readonly body?: Readable
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Calls control's public API for the caller whose token it is given. */
export class ControlClient {
  readonly #pool: Pool

  constructor(url: string) {
    this.#pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: ANSWER_MS, bodyTimeout: 0 })
  }

  /** The answer as the schema reads it. @throws {ControlRefused} {@link ControlUnreachable} */
  async read<T>(schema: z.ZodType<T>, request: ControlRequest): Promise<T> {
    return (await this.readPage(schema, request)).value
  }

  /** As {@link read}, with the cursor of the next page of a list. */
  async readPage<T>(schema: z.ZodType<T>, request: ControlRequest): Promise<{ value: T; cursor: string | null }> {
    const { headers, body } = await this.open(request)
    return { value: schema.parse(JSON.parse(await wholeOf(body))), cursor: cursorOf(headers['link']) }
  }

  /** For answers whose content does not matter. */
  async send(request: ControlRequest): Promise<void> {
    const { body } = await this.open(request)
    await body.dump()
  }

  /** The answer as a stream, once its status is a success. The caller must consume or destroy it. */
  async open({ method, path, query = {}, token, json, body, headers, signal }: ControlRequest) {
    const answer = await this.#request({
      method,
      path,
      query: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
      headers: {
        authorization: `Bearer ${token}`,
        'x-request-id': randomUUID(),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      ...(signal && { signal }),
    })
    if (answer.statusCode < 300) return answer
    throw ControlRefused.of(answer.statusCode, answer.headers, await wholeOf(answer.body))
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#pool.request(options)
    } catch (error) {
      if (options.signal instanceof AbortSignal && options.signal.aborted) throw error
      throw new ControlUnreachable(error)
    }
  }
}

async function wholeOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`answer of control over ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The cursor in `Link: <…?cursor=…>; rel="next"`. */
function cursorOf(link: string | readonly string[] | undefined): string | null {
  const target = /<([^>]*)>\s*;\s*rel="?next"?/.exec([link ?? ''].flat().join(','))?.[1]
  return target === undefined ? null : new URL(target, 'http://control').searchParams.get('cursor')
}
