import {
  type AnyInput,
  type Answer,
  type Entry,
  requestTo,
  type Route,
  streamEvents,
  type StreamedEvent,
} from './routes.ts'
import { NotFoundError } from './errors.ts'
import { fromWire, toWire } from './rename.ts'
import { List } from './list.ts'
import type { CallOptions, QueryValue, Request, Transport } from './transport.ts'

/** Splits the options of a function into those of the call and the fields for the API, renamed. */
export function split(options: CallOptions): { call: CallOptions; fields: Record<string, unknown> } {
  const { signal, timeoutMs, maxRetries, idempotencyKey, ...fields } = options
  return { call: { signal, timeoutMs, maxRetries, idempotencyKey }, fields: toWire(fields) }
}

/** An object of the service, or its id. */
export type Named = { readonly id: string } | string

export function idOf(named: Named): string {
  return typeof named === 'string' ? named : named.id
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

  request(route: Route, input: AnyInput = {}): Request {
    return requestTo(route, { ...input, path: { ...this.#path, ...input.path } })
  }

  async call<R extends Route>(route: R, input: AnyInput = {}): Promise<Answer<R>> {
    return fromWire<Answer<R>>(await this.transport.json(this.request(route, input)))
  }

  /** Sends options, without those of the call, as the JSON body. */
  async post<R extends Route>(route: R, options: CallOptions = {}, input: AnyInput = {}): Promise<Answer<R>> {
    const { call, fields } = split(options)
    return this.call(route, { ...call, body: fields, ...input })
  }

  /** Sends options, without those of the call, as the query. */
  async get<R extends Route>(route: R, options: CallOptions = {}, input: AnyInput = {}): Promise<Answer<R>> {
    const { call, fields } = split(options)
    return this.call(route, { ...call, query: fields as Record<string, QueryValue>, ...input })
  }

  async delete(route: Route, options: CallOptions = {}, input: AnyInput = {}): Promise<void> {
    await this.call(route, { ...split(options).call, ...input })
  }

  /** Deletes. It is no error if the object is gone: the answer to an earlier attempt may have been lost. */
  async remove(route: Route, options: CallOptions = {}, input: AnyInput = {}): Promise<void> {
    await this.delete(route, options, input).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error
    })
  }

  /** @param present makes an object of each renamed entry. Default: the entry itself */
  list<R extends Route, T = Entry<R>>(route: R, options: CallOptions = {}, present?: (entry: Entry<R>) => T): List<T> {
    const { call, fields } = split(options)
    const request = this.request(route, { ...call, query: fields as Record<string, QueryValue> })
    return new List<T>(this.transport, request, (entry) => {
      const renamed = fromWire<Entry<R>>(entry)
      return present === undefined ? (renamed as unknown as T) : present(renamed)
    })
  }

  async *stream<T>(route: Route, input: AnyInput = {}): AsyncGenerator<StreamedEvent<T>> {
    for await (const { event, data, id } of streamEvents(this.transport, this.request(route, input))) {
      yield { event, data: fromWire<T>(data), id }
    }
  }
}
