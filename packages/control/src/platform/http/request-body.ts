import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Transform, type TransformCallback } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { drainRequest } from '@offshoot/kit/drain-request'
import type { FastifyInstance } from 'fastify'

/**
 * The body of a request, for parsers and handlers. It fails with a 408 if the caller announced a body and then sends
 * nothing for too long while control is ready to read.
 *
 * Readers get this stream instead of the request itself, because a reader may destroy its stream. Destroying the
 * request would close the connection before the answer is sent.
 */
class RequestBody extends Transform {
  readonly #silence: NodeJS.Timeout

  constructor(raw: IncomingMessage, silenceMs: number) {
    super()
    this.#silence = setTimeout(() => this.#onSilence(), silenceMs)
    // A reader gets the error itself. This listener only keeps an error without a reader from ending the process.
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
 * A caller that sends `Connection: close` may be answered before it has sent its whole body. Node would close the
 * connection at once, and the reset that follows may discard the answer. So control first reads the rest of the body,
 * then closes.
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

/**
 * A body that has not arrived together with its head passes through a {@link RequestBody}. Parsers and handlers read
 * that.
 */
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
