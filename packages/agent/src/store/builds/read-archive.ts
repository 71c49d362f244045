import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat, truncate } from 'node:fs/promises'
import { Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { BuildFailure } from './build-failure.ts'
import type { BuildFiles } from './build-files.ts'
import { type ImageConfig, type Layer, readImageLayout } from './image-layout.ts'

const SECTOR_BYTES = 512
const MIB = 1024 * 1024
/** Allowance for data that does not end up on the disk: headers, and files that an upper layer replaces. */
const SPARE_MIB = 256
const SPARE_FACTOR = 2

/** An archive that is ready to unpack: a file of whole sectors that contains uncompressed layers. */
export interface ReadArchive {
  readonly path: string
  /** Lowest layer first. */
  readonly layers: readonly Layer[]
  /** Whether layers contain whiteouts, which delete files of the layers below. */
  readonly hasWhiteouts: boolean
  /** The configuration of an image; `null` for a plain archive. */
  readonly config: ImageConfig | null
  readonly digest: string | null
}

type Compression = 'none' | 'gzip' | 'zstd'

/**
 * Detects the format of an upload by its content, and decompresses it. Does not create files under names from the archive.
 * @throws BuildFailure for an unsupported compression, a damaged archive, and one that cannot fit onto the disk
 */
export async function readArchive(files: BuildFiles, sizeMib: number, signal: AbortSignal): Promise<ReadArchive> {
  const limitBytes = (sizeMib * SPARE_FACTOR + SPARE_MIB) * MIB
  let path = files.upload
  const outer = await compressionOf(path, { offset: 0, bytes: SECTOR_BYTES })
  if (outer !== 'none') {
    path = files.flat
    await expand({ from: files.upload, layer: null, compression: outer, to: path, at: 0, limitBytes, signal })
  }
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const layout = await readImageLayout(file, size)
    if (layout === null) {
      await padToSector(path)
      return { path, layers: [{ offset: 0, bytes: size }], hasWhiteouts: false, config: null, digest: null }
    }
    const { config, digest } = layout
    const layers = await expandLayers(files, path, layout.layers, limitBytes, signal)
    return { ...layers, hasWhiteouts: true, config, digest }
  } finally {
    await file.close()
  }
}

/** Decompresses the layers of an image into one file. Leaves them in place if none is compressed. */
async function expandLayers(
  files: BuildFiles,
  from: string,
  layers: readonly Layer[],
  limitBytes: number,
  signal: AbortSignal,
): Promise<Pick<ReadArchive, 'path' | 'layers'>> {
  const compressions = await Promise.all(layers.map((layer) => compressionOf(from, layer)))
  if (compressions.every((compression) => compression === 'none')) {
    await padToSector(from)
    return { path: from, layers }
  }
  const to = `${files.flat}.layers`
  await (await open(to, 'w', 0o600)).close()
  const expanded: Layer[] = []
  let at = 0
  for (const [index, layer] of layers.entries()) {
    const compression = compressions[index] ?? 'none'
    const bytes = await expand({ from, layer, compression, to, at, limitBytes: limitBytes - at, signal })
    expanded.push({ offset: at, bytes })
    at += Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES
  }
  await padToSector(to)
  return { path: to, layers: expanded }
}

async function compressionOf(path: string, { offset }: Layer): Promise<Compression> {
  const file = await open(path, 'r')
  try {
    const start = Buffer.alloc(6)
    await file.read(start, 0, start.length, offset)
    return compressionIn(start)
  } finally {
    await file.close()
  }
}

function compressionIn(start: Buffer): Compression {
  const hex = start.toString('hex')
  if (hex.startsWith('1f8b')) return 'gzip'
  if (hex.startsWith('28b52ffd')) return 'zstd'
  if (hex.startsWith('fd377a585a00')) throw new BuildFailure('xz archives are not taken: send tar, tar.gz or tar.zst')
  if (hex.startsWith('425a68')) throw new BuildFailure('bzip2 archives are not taken: send tar, tar.gz or tar.zst')
  if (hex.startsWith('504b0304')) throw new BuildFailure('zip archives are not taken: send tar, tar.gz or tar.zst')
  return 'none'
}

interface Expansion {
  readonly from: string
  /** `null`: the whole file. */
  readonly layer: Layer | null
  readonly compression: Compression
  readonly to: string
  readonly at: number
  readonly limitBytes: number
  readonly signal: AbortSignal
}

/** Decompresses or copies a file or one layer. @returns the number of bytes written */
async function expand({ from, layer, compression, to, at, limitBytes, signal }: Expansion): Promise<number> {
  const range = layer === null ? {} : { start: layer.offset, end: layer.offset + Math.max(layer.bytes, 1) - 1 }
  const source = createReadStream(from, { ...range, highWaterMark: MIB })
  const counter = new Counter(limitBytes)
  const sink = createWriteStream(to, { flags: at === 0 ? 'w' : 'r+', start: at, mode: 0o600 })
  try {
    if (compression === 'none') await pipeline(source, counter, sink, { signal })
    else await pipeline(source, decompressor(compression), counter, sink, { signal })
    return counter.bytes
  } catch (error) {
    signal.throwIfAborted()
    const { code = '' } = error as NodeJS.ErrnoException
    if (!/^Z_|^ZSTD_|^ERR_/.test(code)) throw error
    throw new BuildFailure('the archive is cut short or damaged', { cause: error })
  }
}

function decompressor(compression: 'gzip' | 'zstd') {
  return compression === 'gzip' ? createGunzip({ chunkSize: MIB }) : createZstdDecompress({ chunkSize: MIB })
}

class Counter extends Transform {
  bytes = 0
  readonly #limitBytes: number

  constructor(limitBytes: number) {
    super({ highWaterMark: MIB })
    this.#limitBytes = limitBytes
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length
    if (this.bytes <= this.#limitBytes) done(null, chunk)
    else done(new BuildFailure('the archive holds far more than fits onto the disk; give a larger size_mb'))
  }
}

/** Pads a file to whole sectors: the guest gets it as a block device. */
async function padToSector(path: string): Promise<void> {
  const { size } = await stat(path)
  const padded = Math.max(1, Math.ceil(size / SECTOR_BYTES)) * SECTOR_BYTES
  if (padded !== size) await truncate(path, padded)
}
