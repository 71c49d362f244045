import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A complete answer. `body` is parsed if it is JSON, else the text. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Header lines as received, to count repeated ones. */
  readonly rawHeaders: readonly string[]
  readonly text: string
  // Tests read bodies of every shape; types would test the types, not the server.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface Call {
  readonly headers?: Record<string, string>
  /** Strings and bytes are sent unchanged; other values as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Milliseconds without a byte of an answer, longer than any answer takes on a busy machine. */
const SILENCE_MS = 120_000

/** Milliseconds until an idle connection is closed: sooner than servers do, who would reset a request on its way. */
const IDLE_MS = 30_000

const keepAlive = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_MS })

/** Sends one HTTP/1.1 request on a keep-alive connection. Adds no headers except for a JSON content type. */
export async function call(method: string, url: string, { headers = {}, body, signal }: Call = {}): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const payload = body === undefined || isRaw ? body : JSON.stringify(body)
  const contentHeaders: Record<string, string> =
    payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = httpRequest(url, {
    method,
    agent: keepAlive,
    headers: { ...contentHeaders, ...headers },
    ...(signal ? { signal } : {}),
  })
  const silent = () => request.destroy(new Error(`no answer within ${SILENCE_MS} ms to ${method} ${url}`))
  request.on('response', resolve).on('error', reject).setTimeout(SILENCE_MS, silent).end(payload)
  return readAnswer(await promise)
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { statusCode = 0, headers, rawHeaders } = response
  const text = (await buffer(response)).toString('utf8')
  const isJson = (headers['content-type'] ?? '').includes('json')
  return { status: statusCode, headers, rawHeaders, text, body: isJson && text !== '' ? JSON.parse(text) : text }
}
