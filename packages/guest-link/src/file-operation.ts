/**
 * One file operation, which a builtin of the guest runs. Its results are on stdout. When it fails, at any time, it
 * writes one record to stderr.
 */
import { constants } from 'node:os'
import { Transform, pipeline, type Readable, type TransformCallback } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { ByteReader } from './byte-reader.ts'
import { CommandClosedStdin } from './command-input.ts'
import { GuestFileError } from './guest-file-error.ts'
import type { GuestProcess } from './guest-process.ts'

const FAILURE_MAX_BYTES = 1024

export class FileOperation {
  /** Resolves when the operation succeeded. Rejects with GuestFileError or GuestLinkLost. */
  readonly ended: Promise<void>
  readonly #process: GuestProcess
  readonly #output: ByteReader
  #deadline: Deadline | undefined
  #hasExited = false

  constructor(process: GuestProcess, deadline: Deadline | undefined) {
    this.#process = process
    this.#output = new ByteReader(process.stdout)
    this.#deadline = deadline
    this.ended = this.#end()
    this.ended.catch(() => {})
  }

  /** Later waits have no deadline: the caller has its first result. */
  dropDeadline(): void {
    this.#deadline = undefined
  }

  /** Kills the operation. */
  cancel(): void {
    this.#process.kill('SIGKILL')
    this.#process.stdout.destroy()
    this.#process.stdin.destroy()
  }

  /** Waits for the end of an operation that has no result. */
  async finish(): Promise<void> {
    this.#process.stdout.resume()
    await this.#within(this.ended)
  }

  /** Reads a result of a known size. */
  async result(bytes: number): Promise<Buffer> {
    const result = await this.next(bytes)
    if (result === undefined) throw new GuestFileError(constants.errno.EIO, 'the guest gave no result')
    return result
  }

  /** Reads so many bytes. Returns undefined at the end of stdout. @throws GuestFileError when the operation failed */
  async next(bytes: number): Promise<Buffer | undefined> {
    const result = await this.#within(this.#output.take(bytes))
    if (result === undefined) await this.#within(this.ended)
    return result
  }

  /** Writes all of the source to stdin, then the end of file. When the source fails, the operation is killed. */
  async feed(source: Readable): Promise<void> {
    try {
      await this.#within(pipe(source, this.#process.stdin))
    } catch (error) {
      const isGuests = error instanceof CommandClosedStdin || this.#hasExited
      if (!isGuests) {
        this.cancel()
        throw error
      }
      // The operation stopped reading because it failed: finish() throws its error.
      await this.finish()
    }
  }

  /** The rest of stdout. The stream fails when the operation fails. Destroying the stream kills the operation. */
  content(): Readable {
    const content = new FileContent(this.ended)
    this.#output.release()
    pipeline(this.#process.stdout, content, (error) => {
      if (error) this.cancel()
    })
    return content
  }

  /** As {@link content}, after the first bytes have arrived: an operation that fails at once rejects here. */
  async startedContent(): Promise<Readable> {
    if (!(await this.#within(this.#output.hasBytes()))) await this.#within(this.ended)
    return this.content()
  }

  async #within<T>(promise: Promise<T>): Promise<T> {
    if (this.#deadline === undefined) return promise
    try {
      return await this.#deadline.race(promise)
    } catch (error) {
      this.cancel()
      throw error
    }
  }

  async #end(): Promise<void> {
    const record: Buffer[] = []
    let bytes = 0
    this.#process.stderr.on('data', (chunk: Buffer) => {
      if (bytes < FAILURE_MAX_BYTES) record.push(chunk)
      bytes += chunk.length
    })
    const exit = await this.#process.exited
    this.#hasExited = true
    if (!this.#process.stderr.readableEnded && !this.#process.stderr.destroyed) {
      await new Promise((resolve) => this.#process.stderr.once('close', resolve))
    }
    if (exit.exitCode !== 0) throw failureOf(Buffer.concat(record), exit.signal)
  }
}

function failureOf(record: Buffer, signal: number | null): GuestFileError {
  if (record.length < 4) return new GuestFileError(constants.errno.EINTR, `file operation: ended by signal ${signal}`)
  return new GuestFileError(record.readUInt32LE(0), record.toString('utf8', 4, FAILURE_MAX_BYTES))
}

class FileContent extends Transform {
  readonly #ended: Promise<void>

  constructor(ended: Promise<void>) {
    super()
    this.#ended = ended
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    void this.#finish(done)
  }

  /** The stream ends only when the operation succeeded: it may still fail after its last byte. */
  async #finish(done: TransformCallback): Promise<void> {
    try {
      await this.#ended
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }
}
