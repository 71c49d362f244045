/**
 * Memory of checkpoints that have not been restored for long, compressed with zstd.
 *
 *     pages ──compress──► pages, pages.zst.new ──replace──► pages.zst ──restore──► pages, pages.zst
 *
 * Invariants: a compressed file gets its final name only after it was read back and matched the seal. `pages` is removed
 * after that, and is complete and on the disk whenever it exists under its name. A kill in between leaves both files, or a
 * file that nothing reads.
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

/** Added to the name of a file of pages. */
export const COMPRESSED = '.zst'
const UNFINISHED = '.new'
/** The fastest levels halve the size; higher ones gain little for much more CPU time. */
const LEVEL = 3
/** Maximum size of a compressed file that is kept, as a share of the original. */
const WORTHWHILE = 0.9

/** A file of pages and its seal. */
export interface SealedPages {
  readonly path: string
  readonly seal: FileSeal
}

/** A request needs the memory or the sandbox now. */
export class CompressionCancelled extends Error {
  override readonly name = 'CompressionCancelled'
}

/**
 * Writes a compressed copy beside each file, and reads the copy back. Skips files that another checkpoint shares, because
 * their removal would free nothing.
 * @param shouldContinue called for each chunk
 * @returns the files that are worth replacing
 * @throws CompressionCancelled, or an error of the file system; no copy is left then
 */
export async function compressBeside(
  files: readonly SealedPages[],
  shouldContinue: () => boolean,
): Promise<SealedPages[]> {
  const compressed: SealedPages[] = []
  try {
    for (const file of files) {
      if ((await stat(file.path)).nlink > 1) continue
      compressed.push(file)
      if (!(await compressOne(file, shouldContinue))) await dropCopies(compressed.splice(-1))
    }
    return compressed
  } catch (error) {
    await dropCopies(compressed)
    throw error
  }
}

/** Replaces files by their compressed copies. The caller must prevent that files are read or linked meanwhile. */
export async function replaceByCompressed(
  folder: string,
  files: readonly SealedPages[],
  unlink: (path: string) => Promise<void>,
): Promise<void> {
  for (const { path } of files) await rename(path + COMPRESSED + UNFINISHED, path + COMPRESSED)
  await syncFolder(folder)
  for (const { path } of files) await unlink(path)
}

/** Removes copies that will not be used. */
export async function dropCopies(files: readonly SealedPages[]): Promise<void> {
  for (const { path } of files) await rm(path + COMPRESSED + UNFINISHED, { force: true })
}

/**
 * Decompresses a file of pages, if only its compressed copy exists.
 * @throws CheckpointDamaged if the copy cannot be decompressed; errors of the file system, also ENOSPC
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

/** Removes compressed copies of files that exist uncompressed. */
export async function removeCopies(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.endsWith(COMPRESSED)) await rm(join(folder, name), { force: true })
}

/** @returns whether the copy is worth keeping */
async function compressOne({ path, seal }: SealedPages, shouldContinue: () => boolean): Promise<boolean> {
  const copy = path + COMPRESSED + UNFINISHED
  const level = { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }
  await rm(copy, { force: true })
  await pipeline(
    createReadStream(path),
    cancelUnless(shouldContinue),
    createZstdCompress(level),
    createWriteStream(copy, { mode: 0o400, flush: true }),
  )
  const hash = createHash('sha256')
  await pipeline(createReadStream(copy), createZstdDecompress(), cancelUnless(shouldContinue), hash)
  // Ignores a file that differs from its seal: the next wake reports it.
  if (hash.digest('hex') !== seal.sha256) return false
  return (await stat(copy)).size <= seal.bytes * WORTHWHILE
}

function cancelUnless(shouldContinue: () => boolean) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      if (!shouldContinue()) throw new CompressionCancelled('the sandbox is needed')
      yield chunk
    }
  }
}
