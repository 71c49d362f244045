import type { Routes } from '../generated/wire.ts'
import type { CallOptions, QueryValue, Request, Transport } from './transport.ts'
import { broken } from './transport.ts'
import { startDeadline } from './deadline.ts'
import { type ServerEvent, serverEvents } from './server-events.ts'

/** Every route of the API, as `METHOD /path/{parameter}`. */
export type Route = keyof Routes

type PathOf<R extends Route> = Routes[R] extends { path: infer P } ? { readonly path: P } : { readonly path?: never }
/** Optional fields may be `undefined`, which is not sent. */
type Loose<T> = { readonly [Name in keyof T]: {} extends Pick<T, Name> ? T[Name] | undefined : T[Name] }
type QueryOf<R extends Route> = Routes[R] extends { query: infer Q }
  ? { readonly query: Loose<Q> }
  : Routes[R] extends { query?: infer Q }
    ? { readonly query?: (Loose<Q> & { readonly [filter: `metadata.${string}`]: string }) | undefined }
    : { readonly query?: never }
type BodyOf<R extends Route> = Routes[R] extends { body: infer B }
  ? { readonly body: Loose<B> }
  : Routes[R] extends { body?: infer B }
    ? { readonly body?: Loose<B> | undefined }
    : { readonly body?: never }

/** What a request to a route consists of, with the names of the API (snake_case). */
export type RouteInput<R extends Route> = PathOf<R> &
  QueryOf<R> &
  BodyOf<R> &
  CallOptions & { readonly headers?: Readonly<Record<string, string>> }

/** The input may be left out if nothing in it is required. */
export type RouteArguments<R extends Route> =
  {} extends RouteInput<R> ? [input?: RouteInput<R>] : [input: RouteInput<R>]

/** The JSON that a route answers with; `null` if it answers with none. */
export type RouteAnswer<R extends Route> = Routes[R]['answer']

/** The data of the events that a route can stream. */
export type RouteEvent<R extends Route> = Routes[R] extends { event: infer E } ? E : never

type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}` ? `${Word}${Capitalize<CamelCase<Rest>>}` : Name

/** The same with the names of the SDK (camelCase). */
type Renamed<T> = T extends readonly (infer Entry)[]
  ? Renamed<Entry>[]
  : T extends object
    ? { [Name in keyof T as CamelCase<Name>]: Renamed<T[Name]> }
    : T

/** What a route answers with, in the names of the SDK. */
export type Answer<R extends Route> = Renamed<RouteAnswer<R>>

/** An entry of the list that a route answers with, in the names of the SDK. */
export type Entry<R extends Route> = Answer<R> extends readonly (infer T)[] ? T : never

type Query<R extends Route> = Routes[R] extends { query?: infer Q } ? Parameters<Renamed<NonNullable<Q>>> : {}
type Parameters<Q> = { [Name in keyof Q]: Parameter<Q[Name]> }
/** Flags of a query are the words `true` and `false`. */
type Parameter<T> = NonNullable<T> extends 'true' | 'false' ? boolean | Extract<T, null | undefined> : T

/** The body of a route, in the names of the SDK. */
export type Body<R extends Route> = Routes[R] extends { body?: infer B } ? Renamed<NonNullable<B>> : never

/** The parameters of a route's query, in the names of the SDK, and the options of the call. */
export type QueryOptions<R extends Route, Without extends string = 'cursor'> = Omit<Query<R>, Without> &
  Omit<CallOptions, 'idempotencyKey'>

/** The input of any route, unchecked. */
export interface AnyInput extends CallOptions {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, QueryValue>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly isIdempotent?: boolean
}

/** The request that a route and its input describe. */
export function requestTo(route: Route, input: AnyInput = {}): Request {
  const space = route.indexOf(' ')
  const template = route.slice(space + 1)
  const { path = {}, ...rest } = input
  return {
    ...rest,
    method: route.slice(0, space),
    route: template,
    path: template.replace(/\{(\w+)\}/g, (_all, name: string) => escaped(path[name] ?? '', name)),
  }
}

/** A value for one segment of a path; only `{path}` of the proxies has several. */
function escaped(value: string, name: string): string {
  if (name === 'path') return value.split('/').map(encodeURIComponent).join('/')
  // An empty or dotted segment would lead to another route.
  if (value === '' || value === '.' || value === '..') throw new TypeError(`${name} must not be "${value}"`)
  return encodeURIComponent(value)
}

/** A streamed event with parsed data. */
export interface StreamedEvent<T> {
  readonly event: string
  readonly data: T
  readonly id: string | null
}

/**
 * Opens a stream of events with JSON data. The stream has no time limit.
 * @throws ApiError before the first event; ConnectionError if the connection breaks later
 */
export async function* streamEvents<T>(transport: Transport, request: Request): AsyncGenerator<StreamedEvent<T>> {
  for await (const frame of streamFrames(transport, request)) {
    if (!(frame instanceof Opened)) yield { event: frame.event, data: JSON.parse(frame.data) as T, id: frame.id }
  }
}

const NOTHING = Promise.resolve({ done: true, value: undefined } as const)

/** The service has accepted the request. */
export class Opened {
  /** The position before the first event; `null` if the service tells none. */
  readonly position: string | null

  constructor(position: string | null) {
    this.position = position
  }
}

/** {@link Opened}, then the events of the stream, with data as text. */
export async function* streamFrames(
  transport: Transport,
  request: Request,
): AsyncGenerator<Opened | ServerEvent, void, undefined> {
  const name = `${request.method} ${request.path}`
  const deadline = startDeadline(request.signal, request.timeoutMs ?? transport.timeoutMs, name)
  const headers = { accept: 'text/event-stream', ...request.headers }
  try {
    const { body, headers: answered } = await transport.send({ ...request, headers, deadline })
    deadline.stopClock()
    const events = body === null ? null : serverEvents(body)
    let hasBegun = false
    try {
      yield new Opened(answered.get('last-event-id'))
      hasBegun = true
      for (;;) {
        const { done, value } = await broken(events?.next() ?? NOTHING, deadline.signal, name)
        if (done) break
        yield value
      }
    } finally {
      await events?.return()
      // A generator that has not begun cancels nothing when it returns.
      if (!hasBegun) await body?.cancel()
    }
  } finally {
    deadline.end()
  }
}
