import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Transform, type TransformCallback } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { drainRequest } from '@offshoot/kit/drain-request'
import type { FastifyInstance } from 'fastify'

/**
 * The body of a request on its way to whoever reads it; fails with a 408 when the caller announced it and sends nothing more for too
 * long, while we would take it. Not the request itself: who reads a stream may destroy it, and with a request goes the connection,
 * the answer not given.
 */
class RequestBody extends Transform {
  readonly #silence: NodeJS.Timeout

  constructor(raw: IncomingMessage, silenceMs: number) {
    super()
    this.#silence = setTimeout(() => this.#onSilence(), silenceMs)
    // Whoever reads hears of it too; until somebody does, and once nobody does, it is no news.
    this.on('error', () => undefined)
    raw.once('close', () => {
      if (!raw.complete) this.destroy(new ApiError('invalidField', { error: 'the caller hung up' }))
    })
    raw.pipe(this)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#silence.refresh()
    done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#silence)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#silence)
    done(error)
  }

  #onSilence(): void {
    const isHeldBack = this.readableLength > 0 || this.writableLength > 0
    if (isHeldBack) this.#silence.refresh()
    else this.destroy(new ApiError('requestTimeout'))
  }
}

export function isBodyEmpty(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

/**
 * A caller that wants the connection closed after its answer (`Connection: close`) may be answered before the end of what it sends.
 * Node would close at once: what still comes is then met by a reset, which may take the answer with it. So the connection stays
 * until the rest has been read.
 */
function closeOnceRead(raw: IncomingMessage, response: ServerResponse): void {
  if (response.shouldKeepAlive) return
  response.shouldKeepAlive = true
  response.once('finish', () => {
    if (raw.complete) {
      raw.socket.end()
      return
    }
    raw.once('end', () => raw.socket.end())
    drainRequest(raw)
  })
}

/** Every body that has not arrived with its head passes through a {@link RequestBody}: parsers and handlers read that. */
export function registerRequestBodies(app: FastifyInstance, silenceMs: number): void {
  app.addHook('onRequest', async ({ raw, headers }, reply) => {
    if (!raw.complete && !isBodyEmpty(headers)) closeOnceRead(raw, reply.raw)
  })
  app.addHook('preParsing', async ({ raw, headers }, reply, payload) => {
    if (raw.complete || isBodyEmpty(headers)) return payload
    const body = new RequestBody(raw, silenceMs)
    reply.raw.once('finish', () => {
      drainRequest(raw)
      body.destroy()
    })
    return body
  })
}
