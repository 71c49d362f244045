import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Entry } from './archive.ts'

const CHUNK_BYTES = 256 * 1024

/**
 * The files of a folder while other processes may change it: what vanishes in between is left out.
 * @param path of the folder
 * @param name of the folder in the archive
 * @param isLeftOut gets paths below the folder; what is below a folder that is left out is left out too
 */
export async function* folderEntries(
  path: string,
  name: string,
  isLeftOut: (below: string) => boolean = () => false,
): AsyncGenerator<Entry> {
  yield* entriesBelow(path, name, '', isLeftOut)
}

async function* entriesBelow(
  root: string,
  name: string,
  below: string,
  isLeftOut: (below: string) => boolean,
): AsyncGenerator<Entry> {
  const folder = join(root, below)
  const found = await lstat(folder).catch(missing)
  if (found === null) return
  yield { kind: 'folder', path: join(name, below), mode: found.mode }
  for (const entry of (await readdir(folder, { withFileTypes: true }).catch(missing)) ?? []) {
    const next = join(below, entry.name)
    if (isLeftOut(next)) continue
    if (entry.isDirectory()) yield* entriesBelow(root, name, next, isLeftOut)
    else if (entry.isFile()) yield* fileEntry(join(root, next), join(name, next))
  }
}

/** One file, or nothing if it is missing. */
export async function* fileEntry(path: string, name: string): AsyncGenerator<Entry> {
  const file = await open(path).catch(missing)
  if (file === null) return
  try {
    const { mode, size } = await file.stat()
    yield { kind: 'file', path: name, mode, bytes: size, content: chunksOf(file) }
  } finally {
    await file.close()
  }
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES))
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

function missing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
