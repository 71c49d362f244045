import { pipeline, Readable } from 'node:stream'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import {
  MAX_MOVE_HEADER_BYTES,
  MOVE_BEGIN,
  MOVE_END,
  type StreamHeader,
  streamHeader,
} from '@offshoot/contract/move-stream'
import { StoreFailed } from '../model/stored-streams.ts'

/** Hosts are near: a higher level would take longer than what it saves. */
const LEVEL = 1

/**
 * The stream of a stored sandbox or snapshot as a host expects it: with the bake if the host lacks it. The host verifies
 * every file, so nothing but the header is looked at here.
 * @param bake a stream with the bake alone, also of another sandbox or snapshot; `null`: the host has it
 * @param moveId of the move for which a sandbox is sent, which is another than it was stored with; `null` for a snapshot
 */
export function joinStreams(
  sandbox: AsyncIterable<Buffer>,
  bake: AsyncIterable<Buffer> | null,
  moveId: string | null,
): AsyncIterable<Buffer> {
  const zstd = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
  // The reader of the result gets the error.
  pipeline(Readable.from(joined(sandbox, bake, moveId), { objectMode: false }), zstd, () => undefined)
  return zstd as AsyncIterable<Buffer>
}

async function* joined(sandbox: AsyncIterable<Buffer>, bake: AsyncIterable<Buffer> | null, moveId: string | null) {
  const parts = [new StoredPart(sandbox), ...(bake === null ? [] : [new StoredPart(bake)])]
  try {
    const [header, ofBake] = await Promise.all(parts.map((part) => part.header()))
    if (header === undefined) throw damaged()
    yield framed({ ...header, ...(moveId !== null && { move_id: moveId }), ...(ofBake && withBake(header, ofBake)) })
    for (const part of parts) yield* part.files()
    yield Buffer.from(MOVE_END)
  } finally {
    for (const part of parts) await part.close()
  }
}

function withBake(header: StreamHeader, ofBake: StreamHeader): Pick<StreamHeader, 'bake' | 'disk_bytes' | 'files'> {
  return {
    bake: { ...header.bake, is_included: true },
    disk_bytes: header.disk_bytes + ofBake.disk_bytes,
    files: [...header.files, ...ofBake.files],
  }
}

function framed(header: StreamHeader): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([Buffer.from(MOVE_BEGIN), length, text])
}

/** One stored stream, decompressed: first its header, then its files without the end mark. @throws StoreFailed */
class StoredPart {
  readonly #plain: AsyncIterator<Buffer>
  #waiting: Buffer = Buffer.alloc(0)

  constructor(stored: AsyncIterable<Buffer>) {
    const zstd = createZstdDecompress()
    pipeline(Readable.from(stored, { objectMode: false }), zstd, () => undefined)
    this.#plain = (zstd as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  }

  async header(): Promise<StreamHeader> {
    if ((await this.#take(MOVE_BEGIN.length)).toString('latin1') !== MOVE_BEGIN) throw damaged()
    const bytes = (await this.#take(4)).readUInt32BE()
    if (bytes > MAX_MOVE_HEADER_BYTES) throw damaged()
    const text = (await this.#take(bytes)).toString('utf8')
    try {
      return streamHeader.parse(JSON.parse(text))
    } catch (error) {
      throw damaged(error)
    }
  }

  async *files(): AsyncGenerator<Buffer> {
    for (;;) {
      const files = this.#waiting.subarray(0, Math.max(0, this.#waiting.length - MOVE_END.length))
      this.#waiting = this.#waiting.subarray(files.length)
      if (files.length > 0) yield files
      if (!(await this.#more())) break
    }
    if (this.#waiting.toString('latin1') !== MOVE_END) throw damaged()
  }

  /** Reads no more. */
  async close(): Promise<void> {
    await this.#plain.return?.()
  }

  async #take(bytes: number): Promise<Buffer> {
    while (this.#waiting.length < bytes) if (!(await this.#more())) throw damaged()
    const taken = this.#waiting.subarray(0, bytes)
    this.#waiting = this.#waiting.subarray(bytes)
    return taken
  }

  async #more(): Promise<boolean> {
    const next = await this.#plain.next().catch((error: unknown) => {
      throw error instanceof StoreFailed ? error : damaged(error)
    })
    if (next.done !== true) this.#waiting = Buffer.concat([this.#waiting, next.value])
    return next.done !== true
  }
}

function damaged(cause?: unknown): StoreFailed {
  return new StoreFailed('the stored copy is damaged', { cause })
}
