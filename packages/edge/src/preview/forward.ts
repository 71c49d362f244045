import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { TakenPool } from './guest-pools.ts'
import { requestIdOf } from '../http/request-id.ts'
import { asFields, responseHeaders, responseTrailers } from './response-headers.ts'
import { refusalOf, sendRefusal } from '../http/refusal.ts'
import { breakOff, hasBody, isHttp2, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'

/** Safe methods (RFC 9110, 9.2.1), which may be sent once more if a kept connection turns out to be closed. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])
const TRIES = 2
/** Maximum bytes of a body's beginning to send together with the head. A complete body of this size needs one write. */
const MAX_HELD_BYTES = 16 * 1024

export interface Forwarded {
  readonly request: VisitorRequest
  readonly response: VisitorResponse
  /** Names and values alternate. */
  readonly headers: readonly string[]
  readonly target: string
  /** Port inside the sandbox. */
  readonly port: number
  /** The visitor waits for a 100 before it sends the body. */
  readonly expectsContinue: boolean
  /** Headers to add to the answer: names and values alternate. */
  readonly added: readonly string[]
}

/**
 * Streams a request to a server inside a sandbox and streams the answer back. It buffers nothing; backpressure works in
 * both directions. Calls `done` when both have ended.
 *
 *     asked → answering → over         (`over` also from anywhere, if the visitor leaves or the server breaks off)
 */
export function forward(pool: TakenPool, forwarded: Forwarded, done: () => void): void {
  new Forwarding(pool, forwarded, done).start()
}

class Forwarding implements Dispatcher.DispatchHandler {
  readonly #forwarded: Forwarded
  readonly #done: () => void
  readonly #hasBody: boolean
  #pool: TakenPool
  #controller: Dispatcher.DispatchController | undefined
  #tries = 0
  #isOver = false
  #hasLeft = false
  #hasContinued = false
  /** First bytes of the body, held until the end of the same read. */
  #held: Buffer | undefined
  #isFlushed = false

  constructor(pool: TakenPool, forwarded: Forwarded, done: () => void) {
    this.#pool = pool
    this.#forwarded = forwarded
    this.#done = done
    this.#hasBody = hasBody(forwarded.request)
  }

  start(): void {
    const { response } = this.#forwarded
    response.once('close', () => this.#leave())
    this.#dispatch()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#hasLeft) controller.abort(new Error('the visitor has left'))
    else this.#continue()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _headers: unknown, message = ''): void {
    // Interim answers (100, 103) are between the server and the edge.
    if (status < 200) return
    const { request, response, added } = this.#forwarded
    const headers = [...responseHeaders(controller.rawHeaders as (Buffer | string)[], requestIdOf(request)), ...added]
    try {
      if (isHttp2(request)) response.writeHead(status, asFields(headers))
      else this.#writeHead(request, status, message, headers)
    } catch (error) {
      // An invalid status or header.
      controller.abort(error as Error)
      return
    }
    process.nextTick(() => this.#flush())
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isFlushed && this.#held === undefined && chunk.length <= MAX_HELD_BYTES) {
      this.#held = chunk
      return
    }
    this.#flush()
    this.#write(controller, chunk)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#isOver = true
    const { request, response } = this.#forwarded
    const trailers = responseTrailers((controller.rawTrailers ?? []) as (Buffer | string)[])
    if (trailers.length > 0) response.addTrailers(asFields(trailers))
    const held = this.#held
    if (held === undefined) response.end()
    else if (isHttp2(request)) response.end(held)
    // Node writes a head and a string together; a Buffer needs a second write, which doubles the cost.
    else response.end(held.toString('latin1'), 'latin1')
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isOver) return
    const { request, response, port } = this.#forwarded
    if (this.#mayTryAgain(error)) {
      this.#pool = this.#pool.renew()
      this.#dispatch()
      return
    }
    this.#isOver = true
    // An answer has begun, so it must be aborted for the visitor to notice that it is incomplete.
    if (response.headersSent) breakOff(request, response)
    else sendRefusal(request, response, refusalOf(error, port))
  }

  /** Sends the bytes that have arrived, because an event stream may be silent for long. */
  #flush(): void {
    const { response } = this.#forwarded
    if (this.#isFlushed || this.#isOver || response.destroyed) return
    this.#isFlushed = true
    const held = this.#held
    this.#held = undefined
    if (held === undefined || this.#controller === undefined) response.flushHeaders()
    else this.#write(this.#controller, held)
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response } = this.#forwarded
    if (response.write(chunk) || controller.paused) return
    controller.pause()
    response.once('drain', () => controller.resume())
  }

  #dispatch(): void {
    const { request, headers, target } = this.#forwarded
    this.#tries += 1
    this.#controller = undefined
    try {
      // Any token is valid (RFC 9110, 9.1), not only those of the type.
      const method = request.method as Dispatcher.HttpMethod
      this.#pool.dispatcher.dispatch({ method, path: target, headers: headers as string[], body: this.#body() }, this)
    } catch (error) {
      this.onResponseError(undefined, error as Error)
    }
  }

  /** A pipe instead of the request itself: destroying the request would close its connection before the answer. */
  #body(): PassThrough | null {
    return this.#hasBody ? this.#forwarded.request.pipe(new PassThrough()) : null
  }

  #writeHead(request: IncomingMessage, status: number, message: string, headers: string[]): void {
    const { response } = this.#forwarded
    response.sendDate = false
    // The edge does not wait for the rest of an upload.
    if (this.#hasBody && !request.complete) headers.push('connection', 'close')
    response.writeHead(status, message, headers)
  }

  #continue(): void {
    if (!this.#forwarded.expectsContinue || this.#hasContinued) return
    this.#hasContinued = true
    this.#forwarded.response.writeContinue()
  }

  #mayTryAgain(error: Error): boolean {
    const { request, response } = this.#forwarded
    const isSafe = SAFE.has(request.method ?? '') && !this.#hasBody
    const isBroken = BROKEN.has((error as NodeJS.ErrnoException).code ?? '')
    return isSafe && isBroken && !response.headersSent && !this.#hasLeft && this.#tries < TRIES
  }

  /** The answer is complete, or the visitor has left. */
  #leave(): void {
    this.#hasLeft = true
    if (!this.#isOver) {
      this.#isOver = true
      this.#controller?.abort(new Error('the visitor has left'))
    }
    this.#pool.done()
    this.#done()
  }
}
