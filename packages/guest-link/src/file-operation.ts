/**
 * One file operation: a command of the guest's own, whose results are on stdout and whose failure, at any time, is one
 * record on stderr.
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
  /** Resolves when it ended well; rejects with GuestFileError or GuestLinkLost. */
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

  /** What comes from here on may take its time: the first of it was in time. */
  endDeadline(): void {
    this.#deadline = undefined
  }

  /** Ends it at once. */
  cancel(): void {
    this.#process.kill('SIGKILL')
    this.#process.stdout.destroy()
    this.#process.stdin.destroy()
  }

  /** The end of an operation without a result. */
  async finish(): Promise<void> {
    this.#process.stdout.resume()
    await this.#within(this.ended)
  }

  /** A result of a known size. */
  async result(bytes: number): Promise<Buffer> {
    const result = await this.next(bytes)
    if (result === undefined) throw new GuestFileError(constants.errno.EIO, 'the guest gave no result')
    return result
  }

  /** The next so many bytes, or undefined after the last. @throws the failure, when that is why there are no more */
  async next(bytes: number): Promise<Buffer | undefined> {
    const result = await this.#within(this.#output.take(bytes))
    if (result === undefined) await this.#within(this.ended)
    return result
  }

  /** Everything of the source, then the end of file. A source that fails ends the operation: nothing is half done. */
  async feed(source: Readable): Promise<void> {
    try {
      await this.#within(pipe(source, this.#process.stdin))
    } catch (error) {
      const isGuests = error instanceof CommandClosedStdin || this.#hasExited
      if (!isGuests) {
        this.cancel()
        throw error
      }
      // It stopped reading, and says why.
      await this.finish()
    }
  }

  /** What is left of stdout; fails when the operation does, and ends it when it is destroyed. */
  content(): Readable {
    const content = new FileContent(this.ended)
    this.#output.release()
    pipeline(this.#process.stdout, content, (error) => {
      if (error) this.cancel()
    })
    return content
  }

  /** {@link content} from its first bytes on, so that what fails at once fails here. */
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

  /** The last byte is no success yet. */
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
