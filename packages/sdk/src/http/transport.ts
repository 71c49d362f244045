import { ApiError, apiError, ConnectionError, type ErrorBody, OffshootError } from './errors.ts'
import { KEYED_ROUTES } from '../generated/facts.ts'
import { type Deadline, delay, startDeadline } from './deadline.ts'
import { Undoing } from './undo.ts'
import {
  mayRetryConnection,
  mayRetryStatus,
  neverArrived,
  randomKey,
  type Repeatable,
  retryDelayMs,
} from './retries.ts'

/** How to reach a service. Every field has a default. */
export interface ClientOptions {
  /** Default: the variable `OFFSHOOT_BASE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseUrl?: string
  /** An API key (`ofs_…`). Default: the variable `OFFSHOOT_API_KEY`. */
  readonly apiKey?: string
  /** The JWT of a user instead of a key, or a function that returns a fresh one for each request. */
  readonly jwt?: string | (() => string | Promise<string>)
  /** Id of the workspace that a JWT acts in. Default: the user's current workspace. */
  readonly org?: string
  /** Milliseconds for one call with all its attempts, unless the call names another time. 0: no limit. Default: 10 minutes. */
  readonly timeoutMs?: number
  /** Attempts after the first. Default: 3. */
  readonly maxRetries?: number
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** Constructor of WebSockets, such as that of the package `ws`. Only terminals need it. Default: the global one. */
  readonly WebSocket?: WebSocketConstructor
}

/** The part of the standard `WebSocket` that the SDK uses. */
export type WebSocketConstructor = new (url: string) => WebSocketLike

export interface WebSocketLike {
  binaryType: string
  readonly readyState: number
  readonly bufferedAmount: number
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
  addEventListener(type: string, listener: (event: never) => void): void
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, and what it does inside a sandbox. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for the whole call with all its attempts. 0: no limit. */
  readonly timeoutMs?: number | undefined
  /** Attempts after the first. */
  readonly maxRetries?: number | undefined
  /**
   * Of creates: of all calls with the same key within 24 hours the service carries out one. Default: a random key, so
   * that a retry never creates twice. What a call with a random key has made is deleted if the call ends without an
   * answer, for example by `signal`.
   */
  readonly idempotencyKey?: string | undefined
}

export type QueryValue = string | number | boolean | readonly (string | number)[] | null | undefined

/** One request, as `Transport.send` takes it. */
export interface Request extends CallOptions {
  readonly method: string
  /** The path with its parameters filled in. */
  readonly path: string
  /** The path with names of parameters, e.g. `/v1/sandboxes/{id}`. Default: `path`. */
  readonly route?: string
  readonly query?: Readonly<Record<string, QueryValue>> | undefined
  /** An object is sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether carrying out the request twice equals once. Default: true unless the method is POST. */
  readonly isIdempotent?: boolean
  /** The caller ends the deadline, because it still reads the body. */
  readonly deadline?: Deadline
  /** Called when an attempt may have reached the service. */
  readonly onSent?: () => void
}

const DEFAULT_BASE_URL = 'http://127.0.0.1:8080'
const DEFAULT_TIMEOUT_MS = 600_000
const DEFAULT_RETRIES = 3

/** Sends requests with a credential and retries them. */
export class Transport {
  readonly baseUrl: string
  readonly timeoutMs: number
  readonly options: ClientOptions
  readonly undoing = new Undoing()
  readonly #fetch: typeof globalThis.fetch

  constructor(options: ClientOptions = {}) {
    this.options = options
    this.baseUrl = (options.baseUrl ?? variable('OFFSHOOT_BASE_URL') ?? DEFAULT_BASE_URL).replace(/\/+$/, '')
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
    const { fetch: chosen } = options
    // Some runtimes refuse to call `fetch` as a method of another object.
    this.#fetch = chosen ?? ((input, init) => globalThis.fetch(input, init))
  }

  /** The API key or JWT; `null` without. */
  async credential(): Promise<string | null> {
    const { jwt, apiKey } = this.options
    if (jwt !== undefined) return typeof jwt === 'string' ? jwt : jwt()
    return apiKey ?? variable('OFFSHOOT_API_KEY') ?? null
  }

  /** The address of a path with a query. */
  url(path: string, query: Request['query'] = {}): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined || value === null) continue
      for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each))
    }
    const text = parameters.toString()
    return `${this.baseUrl}${path}${text === '' ? '' : `?${text}`}`
  }

  /**
   * Sends a request and parses the JSON of its answer; `null` without a body.
   * @throws ApiError for a refusal, ConnectionError, TimeoutError, or the reason of the signal
   */
  async json<T>(request: Request): Promise<T> {
    const text = await this.text(request)
    return (text === '' ? null : parsed(text, nameOf(request))) as T
  }

  /** The same for an answer that is text. */
  async text(request: Request): Promise<string> {
    const { signal, timeoutMs = this.timeoutMs, route = request.path, idempotencyKey } = request
    const keyed =
      idempotencyKey === undefined && isKeyed(request) ? { ...request, route, idempotencyKey: randomKey() } : null
    const deadline = startDeadline(signal, timeoutMs, nameOf(request))
    let isSent = false
    const onSent = () => (isSent = true)
    try {
      const response = await this.send({ ...(keyed ?? request), deadline, onSent })
      return await broken(response.text(), deadline.signal, nameOf(request))
    } catch (error) {
      // A key of the caller may be that of another call, too, which wants what was made.
      if (keyed !== null && isSent && !(error instanceof ApiError)) this.undoing.start(this, keyed)
      throw error
    } finally {
      deadline.end()
    }
  }

  /**
   * Sends a request and returns its successful answer, whose body the caller must read or cancel. Without `deadline`,
   * `timeoutMs` ends with the head of the answer, and `signal` with the body.
   */
  async send(request: Request): Promise<Response> {
    const { signal, timeoutMs = this.timeoutMs, deadline = startDeadline(signal, timeoutMs, nameOf(request)) } = request
    try {
      return await this.#attempts(request, deadline.signal)
    } catch (error) {
      deadline.end()
      throw error
    } finally {
      if (request.deadline === undefined) deadline.stopClock()
    }
  }

  async #attempts(request: Request, signal: AbortSignal): Promise<Response> {
    const { method, body, maxRetries = this.options.maxRetries ?? DEFAULT_RETRIES } = request
    const hasKey = isKeyed(request)
    const repeatable: Repeatable = {
      isIdempotent: request.isIdempotent ?? (hasKey || method !== 'POST'),
      hasLastingBody: !(body instanceof ReadableStream),
    }
    const key = hasKey ? (request.idempotencyKey ?? randomKey()) : undefined
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= maxRetries
      let waitMs: number | null
      // Outside the retries: a credential that cannot be had is no broken connection.
      const init = await this.#init(request, key, signal)
      signal.throwIfAborted()
      try {
        const response = await this.#fetch(this.url(request.path, request.query), init)
        request.onSent?.()
        if (response.ok) return response
        const mayRetry = !isLast && mayRetryStatus(response.status, repeatable)
        waitMs = mayRetry ? retryDelayMs(attempt, response.headers.get('retry-after')) : null
        if (waitMs === null) throw await refused(response, nameOf(request))
        await response.body?.cancel()
      } catch (error) {
        if (!neverArrived(error)) request.onSent?.()
        if (error instanceof OffshootError) throw error
        if (signal.aborted) throw signal.reason
        if (isLast || !mayRetryConnection(error, repeatable)) throw connectionError(error, nameOf(request))
        waitMs = retryDelayMs(attempt, null)
      }
      await delay(waitMs ?? 0, signal)
    }
  }

  async #init(
    { method, body, headers = {} }: Request,
    key: string | undefined,
    signal: AbortSignal,
  ): Promise<RequestInit> {
    const credential = await this.credential()
    const isJson = body !== undefined && !isRaw(body)
    return {
      method,
      signal,
      headers: {
        ...this.options.headers,
        ...(credential !== null && { authorization: `Bearer ${credential}` }),
        ...(this.options.org !== undefined && { 'x-offshoot-org': this.options.org }),
        ...(isJson && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>) }),
      // Node.js requires it for a body that is a stream.
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    }
  }
}

const nameOf = ({ method, path }: Request) => `${method} ${path}`

const isKeyed = ({ method, path, route = path }: Request) => KEYED_ROUTES.has(`${method} ${route}`)

function isRaw(body: unknown): boolean {
  return (
    typeof body === 'string' ||
    body instanceof ReadableStream ||
    body instanceof Blob ||
    body instanceof FormData ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  )
}

async function refused(response: Response, request: string): Promise<Error> {
  const text = await response.text().catch(() => '')
  return apiError({
    status: response.status,
    body: errorBody(text, response.statusText),
    requestId: response.headers.get('x-request-id'),
    request,
  })
}

/**
 * A proxy in front of the service may answer with something other than JSON. The body of a failing `/healthz` is no
 * error, and its fields are kept.
 */
function errorBody(text: string, statusText: string): ErrorBody {
  const unexplained = {
    error: statusText || 'no reason given',
    ...(text !== '' && { detail: text.slice(0, 1000) }),
  }
  try {
    const body = JSON.parse(text) as ErrorBody | null
    if (typeof body?.error === 'string') return body
    return typeof body === 'object' ? { ...unexplained, ...body, error: unexplained.error } : unexplained
  } catch {
    return unexplained
  }
}

function parsed(text: string, request: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ConnectionError(`${request} answered something other than JSON: is this the address of an Offshoot?`, {
      cause: error,
    })
  }
}

/** The result of reading a body, whose connection may break. */
export async function broken<T>(reading: Promise<T>, signal: AbortSignal | undefined, request: string): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (error instanceof OffshootError) throw error
    throw connectionError(error, request)
  }
}

function connectionError(error: unknown, request: string): ConnectionError {
  const { message = String(error), cause } = error as { message?: string; cause?: { message?: string } }
  return new ConnectionError(`${request}: ${cause?.message ?? message}`, { cause: error })
}

/** A variable of the process; `undefined` in a browser. */
function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[name] || undefined
}
