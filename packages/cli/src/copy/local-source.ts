import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TarEntry } from 'modern-tar'
import { Failure } from '../frame/failure.ts'
import type { Tally } from './tally.ts'

/** A part of a folder: what one archive brings. A large file comes alone, as a stream. */
export type Piece =
  | { readonly kind: 'entries'; readonly entries: readonly TarEntry[]; readonly files: number; readonly bytes: number }
  | { readonly kind: 'large'; readonly name: string; readonly path: string }

/** Bytes of content in one archive. A broken connection repeats no more than that, except of a larger file. */
const PIECE_BYTES = 8 * 1024 * 1024
const PIECE_ENTRIES = 2000

/** Reads a folder of this machine in pieces. Symbolic links stay links. */
export async function* piecesOf(root: string, tally: Tally): AsyncGenerator<Piece, void, undefined> {
  let entries: TarEntry[] = []
  let [files, bytes] = [0, 0]
  const cut = (): Piece => {
    const piece: Piece = { kind: 'entries', entries, files, bytes }
    entries = []
    files = bytes = 0
    return piece
  }
  for await (const name of namesIn(root, '', tally)) {
    const path = join(root, name)
    const stats = await lstat(path)
    const header = { name, mode: stats.mode & 0o777, mtime: stats.mtime, uid: 0, gid: 0, size: 0 }
    if (stats.isDirectory()) {
      entries.push({ header: { ...header, name: `${name}/`, type: 'directory' } })
    } else if (stats.isSymbolicLink()) {
      entries.push({ header: { ...header, type: 'symlink', linkname: await readlink(path) } })
      files++
    } else if (stats.isFile() && stats.size > PIECE_BYTES) {
      if (entries.length > 0) yield cut()
      yield { kind: 'large', name, path }
    } else if (stats.isFile()) {
      const body = await readAll(path)
      entries.push({ header: { ...header, type: 'file', size: body.length }, body })
      files++
      bytes += body.length
    } else {
      tally.leaveOut(name, 'is no file, folder or link')
    }
    if (bytes >= PIECE_BYTES || entries.length >= PIECE_ENTRIES) yield cut()
  }
  if (entries.length > 0) yield cut()
}

/** Every name below a folder, a folder before what is in it. */
async function* namesIn(root: string, folder: string, tally: Tally): AsyncGenerator<string, void, undefined> {
  const found = await readdir(join(root, folder), { encoding: 'buffer', withFileTypes: true })
  for (const entry of found) {
    const name = entry.name.toString('utf8')
    const path = folder === '' ? name : `${folder}/${name}`
    if (!Buffer.from(name, 'utf8').equals(entry.name)) {
      tally.leaveOut(path, 'has a name that is not UTF-8')
      continue
    }
    yield path
    if (entry.isDirectory()) yield* namesIn(root, path, tally)
  }
}

async function readAll(path: string): Promise<Uint8Array> {
  const file = await open(path)
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Exactly so many bytes of a file. */
export async function* contentOf(file: FileHandle, path: string, size: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(256 * 1024)
  for (let at = 0; at < size;) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, size - at), at)
    if (bytesRead === 0) throw new Failure(`${path} became shorter while it was copied`, { next: 'repeat the command' })
    at += bytesRead
    // The receiver may keep it.
    yield Uint8Array.from(chunk.subarray(0, bytesRead))
  }
}
