import { type AnyInput, requestTo, streamEvents, type StreamedEvent } from './routes.ts'
import { fromWire, toWire } from './rename.ts'
import { List } from './list.ts'
import type { CallOptions, QueryValue, Request, Transport } from './transport.ts'

/** Splits the options of a function into those of the call and the fields for the API, renamed. */
export function split(options: CallOptions): { call: CallOptions; fields: Record<string, unknown> } {
  const { signal, timeoutMs, maxRetries, idempotencyKey, ...fields } = options
  return { call: { signal, timeoutMs, maxRetries, idempotencyKey }, fields: toWire(fields) }
}

/** Sends requests below fixed parameters of the path, such as the id of a sandbox, and renames the answers. */
export class Scope {
  readonly transport: Transport
  readonly #path: Readonly<Record<string, string>>

  constructor(transport: Transport, path: Readonly<Record<string, string>> = {}) {
    this.transport = transport
    this.#path = path
  }

  /** A scope with further parameters. */
  with(path: Readonly<Record<string, string>>): Scope {
    return new Scope(this.transport, { ...this.#path, ...path })
  }

  request(route: string, input: AnyInput = {}): Request {
    return requestTo(route, { ...input, path: { ...this.#path, ...input.path } })
  }

  async call<T>(route: string, input: AnyInput = {}): Promise<T> {
    return fromWire<T>(await this.transport.json(this.request(route, input)))
  }

  /** Sends options, without those of the call, as the JSON body. */
  async post<T>(route: string, options: CallOptions = {}, input: AnyInput = {}): Promise<T> {
    const { call, fields } = split(options)
    return this.call<T>(route, { ...call, body: fields, ...input })
  }

  /** Sends options, without those of the call, as the query. */
  async get<T>(route: string, options: CallOptions = {}): Promise<T> {
    const { call, fields } = split(options)
    return this.call<T>(route, { ...call, query: fields as Record<string, QueryValue> })
  }

  /** Deletes. The object may be gone already if the answer to an earlier attempt was lost. */
  async delete(route: string, options: CallOptions = {}, input: AnyInput = {}): Promise<void> {
    await this.call(route, { ...split(options).call, ...input })
  }

  list<T>(route: string, options: CallOptions = {}, present?: (entry: unknown) => T): List<T> {
    const { call, fields } = split(options)
    return new List<T>(
      this.transport,
      this.request(route, { ...call, query: fields as Record<string, QueryValue> }),
      present,
    )
  }

  async *stream<T>(route: string, input: AnyInput = {}): AsyncGenerator<StreamedEvent<T>> {
    for await (const { event, data, id } of streamEvents(this.transport, this.request(route, input))) {
      yield { event, data: fromWire<T>(data), id }
    }
  }
}
