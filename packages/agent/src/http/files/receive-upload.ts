import { Transform, type TransformCallback } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyRequest } from 'fastify'

/** Maximum milliseconds for a whole upload. */
const UPLOAD_MS = 3 * 60 * 60_000
/** Maximum milliseconds without progress, whether the caller or the guest is slow, and for the guest's final answer. */
const SILENCE_MS = 120_000

/**
 * The body of a request on its way into the guest. Limits its size, and fails if the caller disconnects or stalls.
 * It is a stream of its own because a failing pipeline destroys its source: destroying the request would close the
 * connection before the error response is sent.
 */
export class UploadBody extends Transform {
  /** Deadline for the operation that reads this body. Call `close` when that operation has ended. */
  readonly deadline: Deadline
  readonly #raw: FastifyRequest['raw']
  readonly #maxBytes: number
  readonly #silence: NodeJS.Timeout
  readonly #over = new AbortController()
  #bytes = 0

  /** @throws ApiError 413 if `Content-Length` is too large, before reading any byte */
  static of(request: FastifyRequest, maxBytes: number, stopping: AbortSignal): UploadBody {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return new UploadBody(request, maxBytes, stopping)
  }

  private constructor({ raw }: FastifyRequest, maxBytes: number, stopping: AbortSignal) {
    super()
    this.#raw = raw
    this.#maxBytes = maxBytes
    const stopped = new AbortController()
    const silence = new ApiError('invalidField', { error: `nothing moved for ${SILENCE_MS / 1000} s` })
    this.#silence = setTimeout(() => stopped.abort(silence), SILENCE_MS)
    stopping.addEventListener('abort', () => stopped.abort(new ApiError('shuttingDown')), { signal: this.#over.signal })
    this.deadline = Deadline.after(UPLOAD_MS, 'upload', stopped.signal)
    const onClose = () => {
      // The caller is gone: the status only appears in the log.
      if (!raw.complete) this.destroy(new ApiError('invalidField', { error: 'the caller hung up' }))
    }
    raw.once('close', onClose)
    if (raw.destroyed) onClose()
    raw.pipe(this)
  }

  /** Ends the timers and the stream. Discards the rest of the body, so that the next request of the connection is read. */
  close(): void {
    clearTimeout(this.#silence)
    this.#over.abort()
    this.destroy()
    this.#raw.unpipe(this)
    this.#raw.resume()
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length
    this.#silence.refresh()
    if (this.#bytes > this.#maxBytes) done(tooLarge(this.#maxBytes))
    else done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    this.#silence.refresh()
    done()
  }
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('bodyTooLarge', { max_bytes: maxBytes })
}
