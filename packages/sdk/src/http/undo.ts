import { ConflictError } from './errors.ts'
import { delay } from './deadline.ts'

/** What a create answers with, as far as this file reads it. */
interface Made {
  readonly id: string
  readonly prefix: string
  readonly children: readonly { readonly id: string }[]
}

const sandbox = ({ id }: { readonly id: string }) => [`/v1/sandboxes/${id}`]
const database = ({ id }: Made) => [`/v1/databases/${id}`]

/**
 * The paths that delete what a create has made, by its route: everything whose id or secret only the answer tells. A
 * volume, an app or a template has a name that the program knows, and may hold data by then.
 */
const MADE: Readonly<Record<string, (made: Made, path: string) => readonly string[]>> = {
  'POST /v1/sandboxes': sandbox,
  'POST /v1/sandboxes/{id}/fork': sandbox,
  'POST /v1/sandboxes/{id}/fork-tree': ({ children }) => children.flatMap(sandbox),
  'POST /v1/sandboxes/{id}/snapshots': ({ id }) => [`/v1/snapshots/${id}`],
  'POST /v1/volumes/{name}/snapshots': ({ id }, path) => [`${path}/${id}`],
  'POST /v1/databases': database,
  'POST /v1/databases/{id}/branch': database,
  'POST /v1/databases/{id}/restore': database,
  'POST /v1/webhooks': ({ id }) => [`/v1/webhooks/${id}`],
  'POST /v1/me/tokens': ({ prefix }) => [`/v1/me/tokens/${prefix}`],
}

/** Milliseconds for all of it. The service may be away just now. */
const LIMIT_MS = 60_000
const PAUSE_MS = 1_000
const RETRIES = 5

/** The part of a request that this file reads or changes. */
interface AnyRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** The part of the transport that this file uses. */
interface Sender {
  json<T>(request: AnyRequest): Promise<T>
  text(request: AnyRequest): Promise<string>
}

/** Creates that ended without an answer, and whose results are being deleted in the background. */
export class Undoing {
  readonly #pending = new Set<Promise<unknown>>()

  /** @param request with the key that it had */
  start(transport: Sender, request: KeyedRequest): void {
    const undoing: Promise<unknown> = undo(transport, request)
      // Nobody waits for it. What is left ends with its lifetime.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(undoing))
    this.#pending.add(undoing)
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }
}

type KeyedRequest = AnyRequest & { readonly route: string }

/**
 * Deletes what a create has made whose caller has given up on its answer, and makes sure that it makes nothing later. The
 * service says by the key of the request what it has made.
 */
async function undo(transport: Sender, request: KeyedRequest): Promise<void> {
  const { signal: _callers, headers = {}, ...rest } = request
  const signal = AbortSignal.timeout(LIMIT_MS)
  const limits = { signal, timeoutMs: LIMIT_MS, maxRetries: RETRIES }
  const cancel = { ...rest, ...limits, headers: { ...headers, 'idempotency-cancel': 'true' } }
  const made = await answerTo(transport, cancel, signal)
  const paths = made === null ? [] : (MADE[`${request.method} ${request.route}`]?.(made, request.path) ?? [])
  await Promise.all(paths.map((path) => transport.text({ ...limits, method: 'DELETE', path })))
}

/** `null`: the request has made nothing. */
async function answerTo(transport: Sender, request: AnyRequest, signal: AbortSignal): Promise<Made | null> {
  for (;;) {
    try {
      return await transport.json<Made>(request)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      // The first request is still under way after a minute, or it was cancelled.
      if (!/has not finished/.test(error.body.error)) return null
      await delay(PAUSE_MS, signal)
    }
  }
}
