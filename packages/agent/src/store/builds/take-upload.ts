import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ApiError } from '@offshoot/contract/errors'
import { isDiskFull } from '../data-dir/full-disk.ts'

const MIB = 1024 * 1024
/** Free MiB that templates leave on the host's disk. */
const RESERVE_MIB = 2048
/** Bytes between two checks of the free disk space. */
const LOOK_BYTES = 64 * MIB

export interface Upload {
  readonly bytes: number
  readonly sha256: string
}

/** Streams an upload to a new file. @throws ApiError 507 before the host's disk is full */
export async function takeUpload(source: Readable, path: string): Promise<Upload> {
  const meter = new Meter(path)
  try {
    await meter.look(0)
    await pipeline(
      source,
      (chunks: AsyncIterable<Buffer>) => meter.pass(chunks),
      createWriteStream(path, { flags: 'wx', mode: 0o600 }),
    )
  } catch (error) {
    throw isDiskFull(error) ? new ApiError('templateStorage', {}, { cause: error }) : error
  }
  return { bytes: meter.bytes, sha256: meter.digest() }
}

/** Checks that the host's disk has room for `wantedMib` more. @throws ApiError 507 */
export async function admitTemplate(folder: string, wantedMib: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if ((bavail * bsize) / MIB - RESERVE_MIB < wantedMib) throw new ApiError('templateStorage')
}

/** Counts and hashes a stream, and periodically checks the free disk space. */
class Meter {
  bytes = 0
  readonly #hash = createHash('sha256')
  readonly #folder: string
  #lookedAt = 0

  constructor(path: string) {
    this.#folder = dirname(path)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }

  async look(wantedMib: number): Promise<void> {
    await admitTemplate(this.#folder, wantedMib)
  }

  async *pass(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.#hash.update(chunk)
      this.bytes += chunk.length
      if (this.bytes - this.#lookedAt >= LOOK_BYTES) {
        this.#lookedAt = this.bytes
        await this.look(LOOK_BYTES / MIB)
      }
      yield chunk
    }
  }
}
