import { Transform, type TransformCallback } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyRequest } from 'fastify'

/** Milliseconds that a whole upload may take. */
const UPLOAD_MS = 3 * 60 * 60_000
/** Milliseconds in which some of it must move, whoever is slow, and in which the guest must answer the last of it. */
const SILENCE_MS = 120_000

/**
 * The body of a request on its way into the guest: counted, and ended by a caller who hangs up or stands still.
 * Not the request itself: a stream that fails is destroyed, and a request that is destroyed takes the connection and the
 * answer with it.
 */
export class UploadBody extends Transform {
  /** For the operation that takes it; `close` it when that is over. */
  readonly deadline: Deadline
  readonly #maxBytes: number
  readonly #silence: NodeJS.Timeout
  readonly #over = new AbortController()
  #bytes = 0

  /** @throws ApiError 413 when it is announced to be too large: before any of it is read */
  static of(request: FastifyRequest, maxBytes: number, stopping: AbortSignal): UploadBody {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return new UploadBody(request, maxBytes, stopping)
  }

  private constructor({ raw }: FastifyRequest, maxBytes: number, stopping: AbortSignal) {
    super()
    this.#maxBytes = maxBytes
    const stopped = new AbortController()
    const silence = new ApiError('invalidField', { error: `nothing moved for ${SILENCE_MS / 1000} s` })
    this.#silence = setTimeout(() => stopped.abort(silence), SILENCE_MS)
    stopping.addEventListener('abort', () => stopped.abort(new ApiError('shuttingDown')), { signal: this.#over.signal })
    this.deadline = Deadline.after(UPLOAD_MS, 'upload', stopped.signal)
    const onClose = () => {
      // Nobody is there to read it; the status is for the log.
      if (!raw.complete) this.destroy(new ApiError('invalidField', { error: 'the caller hung up' }))
    }
    raw.once('close', onClose)
    if (raw.destroyed) onClose()
    raw.pipe(this)
  }

  /** No more waiting. */
  close(): void {
    clearTimeout(this.#silence)
    this.#over.abort()
    this.destroy()
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
