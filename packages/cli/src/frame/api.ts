import { EXIT, Failure } from './failure.ts'

/** Milliseconds until the server must have begun to answer a plain request. Creates of databases take up to 90 s. */
const ANSWER_MS = 150_000
/** Attempts of a request that the server refused for the moment. */
const ATTEMPTS = 5
/** Milliseconds before the second attempt; doubled before each further one. */
const FIRST_PAUSE_MS = 200
/** Statuses after which the same request may be sent again: the server did nothing. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503])
/** Milliseconds of a pause that `Retry-After` may ask for; a longer one is reported instead. */
const LONGEST_PAUSE_MS = 10_000

export interface Request {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. Such a request is never repeated. */
  readonly raw?: NonNullable<RequestInit['body']>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** The answer may take any time: a stream, or a transfer. */
  readonly isEndless?: boolean
}

/** The flat error body of the API. */
interface Refusal {
  readonly error: string
  readonly detail?: string
}

/** The API of one server in the name of one credential. */
export class Api {
  readonly baseUrl: string
  readonly #credential: () => Promise<string>

  /** @param credential the bearer token; asked for with each request, because tokens expire */
  constructor(baseUrl: string, credential: () => Promise<string>) {
    this.baseUrl = baseUrl
    this.#credential = credential
  }

  async bearer(): Promise<string> {
    return this.#credential()
  }

  async get<T>(path: string, query: Request['query'] = {}): Promise<T> {
    return json<T>(await this.fetch('GET', path, { query }))
  }

  /** A change. Creates carry an idempotency key, so that a repeated attempt makes nothing twice. */
  async send<T>(method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, request: Request = {}): Promise<T> {
    const key = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {}
    return json<T>(await this.fetch(method, path, { ...request, headers: { ...key, ...request.headers } }))
  }

  /** All entries of a list, over all its pages. */
  async list<T>(path: string, query: Request['query'] = {}): Promise<T[]> {
    const all: T[] = []
    let next: { path: string; query: Request['query'] } | null = { path, query }
    while (next !== null) {
      const response: Response = await this.fetch('GET', next.path, { query: next.query })
      all.push(...(await json<T[]>(response)))
      const link = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      // The address names the server as it sees itself, which may differ from the one that this program reaches.
      next = link === undefined ? null : { path, query: Object.fromEntries(new URL(link).searchParams) }
    }
    return all
  }

  /** The answer, whose status is a success; its body is not read yet. Throws `Failure` for every refusal. */
  async fetch(method: string, path: string, request: Request = {}): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.#once(method, path, request)
      if (response.ok) return response
      const pause = Math.max(secondsOf(response) * 1000, FIRST_PAUSE_MS * 2 ** (attempt - 1))
      const isLast = attempt === ATTEMPTS || request.raw !== undefined || pause > LONGEST_PAUSE_MS
      if (isLast || !RETRIED.has(response.status)) throw await refusalOf(response, this.baseUrl)
      await response.body?.cancel()
      await new Promise((resolve) => setTimeout(resolve, pause))
      request.signal?.throwIfAborted()
    }
  }

  async #once(method: string, path: string, request: Request): Promise<Response> {
    const url = new URL(this.baseUrl + path)
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const limit = request.isEndless === true ? [] : [AbortSignal.timeout(ANSWER_MS)]
    const signal = AbortSignal.any([...(request.signal === undefined ? [] : [request.signal]), ...limit])
    const { body, raw } = request
    try {
      return await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${await this.#credential()}`,
          'user-agent': 'offshoot-cli',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...request.headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(raw !== undefined && { body: raw, duplex: 'half' }),
        signal,
      })
    } catch (error) {
      if (error instanceof Failure || request.signal?.aborted) throw error
      throw unreachable(this.baseUrl, error)
    }
  }
}

/** The server did not answer. */
export function unreachable(baseUrl: string, cause: unknown): Failure {
  const timedOut = cause instanceof Error && cause.name === 'TimeoutError'
  return new Failure(`${baseUrl} ${timedOut ? 'did not answer in time' : 'cannot be reached'}`, {
    next: 'start the server with offshoot up, or name another with --base-url or OFFSHOOT_BASE_URL',
    cause,
  })
}

async function json<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    return (text === '' ? null : JSON.parse(text)) as T
  } catch (error) {
    throw new Failure(`${response.url} answered something that is not JSON`, {
      next: 'check the address of the API (--base-url, OFFSHOOT_BASE_URL)',
      cause: error,
    })
  }
}

/** What the user can do about a status. */
const NEXT: Readonly<Record<number, readonly [exitCode: number, next: string | null]>> = {
  401: [EXIT.noPermission, 'sign in with offshoot login, or set OFFSHOOT_API_KEY'],
  402: [EXIT.limit, 'see the plan and its credit in the billing of the workspace'],
  403: [EXIT.noPermission, 'ask an owner of the workspace for the permission'],
  404: [EXIT.notFound, null],
  413: [EXIT.limit, null],
  429: [EXIT.limit, 'wait a moment and repeat the command, or delete what you no longer need'],
  507: [EXIT.limit, 'delete what you no longer need, or ask the operator for more space'],
}

/** Turns a refusal of the API into a failure. */
export async function refusalOf(response: Response, baseUrl: string): Promise<Failure> {
  const text = await response.text().catch(() => '')
  return refusal(response.status, text, response.headers.get('x-request-id'), baseUrl)
}

/** The same for a refusal whose parts are known. */
export function refusal(status: number, body: string, requestId: string | null, baseUrl: string): Failure {
  const [exitCode, next] = NEXT[status] ?? [EXIT.failed, status >= 500 ? 'repeat the command' : null]
  const { error, detail } = bodyOf(body) ?? { error: `${baseUrl} answered ${status} without an explanation` }
  // The text says itself what to do ("resume/wake it first"), or the detail does.
  const says = error.includes(' — ') ? error.split(' — ') : [error]
  const [message = error, ownNext] = says
  return new Failure(detail === undefined ? message : `${message} (${detail})`, {
    exitCode,
    next: ownNext ?? next,
    requestId,
  })
}

function bodyOf(text: string): Refusal | null {
  try {
    const value = JSON.parse(text) as Partial<Refusal> | null
    return typeof value?.error === 'string' ? (value as Refusal) : null
  } catch {
    return null
  }
}

function secondsOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after'))
  return Number.isFinite(seconds) ? seconds : 0
}
