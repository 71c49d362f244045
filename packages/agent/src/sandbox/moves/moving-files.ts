import { type FileHandle, open, readFile } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createZstdDecompress } from 'node:zlib'
import type { MovedFile } from '@offshoot/contract/move-stream'
import { type BakeContent, pathInBake } from '../../store/bakes/bake-content.ts'
import type { Checkpoint, FileSeal } from '../../store/checkpoints/checkpoint.ts'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { COMPRESSED } from '../../store/checkpoints/compressed-memory.ts'
import { sealedMemory } from '../../store/checkpoints/memory-bases.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { dataRanges } from '../../machine/disks/data-ranges.ts'
import { windowsOf, zeroWindow } from '../../store/data-dir/file-windows.ts'
import type { Host } from '../model/host.ts'

/**
 * The files of a sandbox's folder that move as they are, and are small. What stays: QEMU's log and the idle time, which are
 * of this host; `chain.json` and `memory-base/`, which a hibernated sandbox does not need.
 */
export const SMALL_FILES = ['events.1.jsonl', 'events.jsonl', 'log.1.jsonl', 'log.jsonl', 'usage.json'] as const

/** A file of the stream and its content. */
export interface MovingFile extends MovedFile {
  readonly content: { readonly path: string } | { readonly bytes: Buffer }
}

export async function smallFiles(folder: string): Promise<MovingFile[]> {
  const found: MovingFile[] = []
  for (const name of SMALL_FILES) {
    const bytes = await readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (bytes !== null) found.push({ name, bytes: bytes.length, sha256: await sha256Of(bytes), content: { bytes } })
  }
  return found
}

/** Beside the event loop. */
export async function sha256Of(bytes: Buffer<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

export function memoryFilesOf(folder: string, checkpoint: Checkpoint): MovingFile[] {
  const layers = sealedMemory(folder, checkpoint)
  const memory = layers.flatMap(({ files, seal }, index) => {
    const prefix = index === layers.length - 1 ? '' : `base-${index}.`
    return [
      moving(`memory/${prefix}pages`, files.pages, seal.pages),
      moving(`memory/${prefix}runs`, files.runs, seal.runs),
    ]
  })
  return [...memory, moving('memory/state', checkpointFiles(folder).state, checkpoint.state)]
}

/** What the header of a stream says about the memory. */
export function memoryOf({ machine, tsc_khz, guest_ip, created_at, memory }: Checkpoint) {
  return { machine, ...(tsc_khz !== undefined && { tsc_khz }), guest_ip, created_at, bases: memory.length - 1 }
}

/** @param checkpoint `null`: the layers have no seals */
export async function layerFiles(
  host: Host,
  layers: readonly LayerId[],
  checkpoint: Pick<Checkpoint, 'layers'> | null,
) {
  return Promise.all(
    layers.map(async (id, index) => {
      const path = host.store.layers.path(id)
      const known = checkpoint?.layers.find((layer) => layer.id === id)
      return moving(`layers/${index}`, path, known ?? (await host.store.bakeContents.seal(path)))
    }),
  )
}

export function filesOfBake(folder: string, { files }: BakeContent): MovingFile[] {
  return files.map((file) => moving(file.name, pathInBake(folder, file), file))
}

function moving(name: string, path: string, { bytes, sha256 }: FileSeal): MovingFile {
  return { name, bytes, sha256, content: { path } }
}

/** The content of a file, decompressed if its checkpoint is compressed. */
export async function* contentOf({ content }: MovingFile): AsyncGenerator<Buffer> {
  if ('bytes' in content) yield content.bytes
  else if (await isPresent(content.path)) yield* chunksOf(content.path)
  else yield* decompressed(content.path + COMPRESSED)
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const ranges = await dataRanges(path)
  const file = await open(path)
  try {
    for (const { at, length, hasData } of windowsOf((await file.stat()).size, ranges)) {
      if (hasData) yield await readWindow(file, at, length)
      else yield zeroWindow(length)
    }
  } finally {
    await file.close()
  }
}

/** @throws Error if the file has become shorter */
async function readWindow(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  for (let got = 0; got < length;) {
    const { bytesRead } = await file.read(buffer, got, length - got, at + got)
    if (bytesRead === 0) throw new Error('a file became shorter while it was read')
    got += bytesRead
  }
  return buffer
}

async function* decompressed(path: string): AsyncGenerator<Buffer> {
  const source = createReadStream(path)
  const plain = createZstdDecompress()
  source.once('error', (error) => plain.destroy(error))
  try {
    for await (const chunk of source.pipe(plain)) yield chunk as Buffer
  } finally {
    source.destroy()
  }
}
