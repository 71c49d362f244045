/**
 * Memory of checkpoints that nobody has restored for long, compressed with zstd.
 *
 *     pages ──compress──► pages, pages.zst.new ──replace──► pages.zst ──restore──► pages, pages.zst
 *
 * Invariants: a compressed file is only ever given its name after it was read back and found to hold what was sealed. `pages` is
 * removed after that, and is complete and on the disk whenever it has its name. A kill in between leaves both files, or a file
 * that nothing reads.
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { isPresent } from '../ledger/is-present.ts'
import { CheckpointDamaged } from './checkpoint-errors.ts'
import type { FileSeal } from './checkpoint.ts'

const COMPRESSED = '.zst'
const UNFINISHED = '.new'
/** The fastest levels take half of the room; higher ones little less for much more CPU time. */
const LEVEL = 3
/** A compressed file that is larger than this share of the original is not kept. */
const WORTHWHILE = 0.9

/** A file of pages and what it was when it was sealed. */
export interface SealedPages {
  readonly path: string
  readonly seal: FileSeal
}

/** Somebody needs the memory, or the sandbox, now. */
export class CompressionCancelled extends Error {
  override readonly name = 'CompressionCancelled'
}

/**
 * Writes a compressed copy of each file beside it, and reads the copy back. Files that another checkpoint has too are left out:
 * they would not go.
 * @param isWanted asked for each chunk
 * @returns the files that are worth replacing
 * @throws CompressionCancelled; as the file system does. Then no copy is left.
 */
export async function compressBeside(files: readonly SealedPages[], isWanted: () => boolean): Promise<SealedPages[]> {
  const compressed: SealedPages[] = []
  try {
    for (const file of files) {
      if ((await stat(file.path)).nlink > 1) continue
      compressed.push(file)
      if (!(await compressOne(file, isWanted))) await dropCopies(compressed.splice(-1))
    }
    return compressed
  } catch (error) {
    await dropCopies(compressed)
    throw error
  }
}

/** Replaces files by their compressed copies. The caller sees to it that nothing reads them, and nobody links them. */
export async function replaceByCompressed(
  folder: string,
  files: readonly SealedPages[],
  unlink: (path: string) => Promise<void>,
): Promise<void> {
  for (const { path } of files) await rename(path + COMPRESSED + UNFINISHED, path + COMPRESSED)
  await syncFolder(folder)
  for (const { path } of files) await unlink(path)
}

/** Removes copies that {@link replaceByCompressed} is not going to use. */
export async function dropCopies(files: readonly SealedPages[]): Promise<void> {
  for (const { path } of files) await rm(path + COMPRESSED + UNFINISHED, { force: true })
}

/**
 * Makes a file of pages from its compressed copy, where only that one is there.
 * @throws CheckpointDamaged when the copy cannot be decompressed; as the file system does, also ENOSPC
 */
export async function restorePages(path: string): Promise<void> {
  if ((await isPresent(path)) || !(await isPresent(path + COMPRESSED))) return
  const unfinished = path + UNFINISHED
  try {
    const target = createWriteStream(unfinished, { mode: 0o400, flush: true })
    await pipeline(createReadStream(path + COMPRESSED), createZstdDecompress(), target)
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    const { code, syscall } = error as NodeJS.ErrnoException
    // Only errors of the file system name a system call.
    if (syscall !== undefined && code !== 'EIO') throw error
    throw new CheckpointDamaged(`${basename(path)} cannot be decompressed`, { cause: error })
  }
}

/** Removes compressed copies of files in a folder that are there uncompressed. */
export async function removeCopies(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.endsWith(COMPRESSED)) await rm(join(folder, name), { force: true })
}

/** @returns whether the copy is worth keeping */
async function compressOne({ path, seal }: SealedPages, isWanted: () => boolean): Promise<boolean> {
  const copy = path + COMPRESSED + UNFINISHED
  const level = { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }
  await rm(copy, { force: true })
  await pipeline(
    createReadStream(path),
    whileWanted(isWanted),
    createZstdCompress(level),
    createWriteStream(copy, { mode: 0o400, flush: true }),
  )
  const hash = createHash('sha256')
  await pipeline(createReadStream(copy), createZstdDecompress(), whileWanted(isWanted), hash)
  // A file that no longer is what was sealed is not touched: the next wake reports it.
  if (hash.digest('hex') !== seal.sha256) return false
  return (await stat(copy)).size <= seal.bytes * WORTHWHILE
}

function whileWanted(isWanted: () => boolean) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      if (!isWanted()) throw new CompressionCancelled('the sandbox is needed')
      yield chunk
    }
  }
}
