import type { FileEntry } from '@offshoot/contract/file'
import type { FileEntry as GuestEntry } from '@offshoot/guest-link/file-entry'
import { shownName } from './shown-name.ts'

const SLASH = Buffer.from('/')

/** @param path of the entry itself */
export function presentEntry(path: Buffer, entry: GuestEntry): FileEntry {
  return {
    name: lastPart(path).toString(),
    ...shownName('path', path),
    type: entry.type,
    is_dir: entry.type === 'dir',
    size: entry.size,
    mode: entry.mode.toString(8).padStart(4, '0'),
    mtime: Math.floor(entry.mtimeMs / 1000),
    ...(entry.target !== null && shownName('target', entry.target)),
  }
}

export function childPath(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([withoutSlashes(folder), SLASH, name])
}

function lastPart(path: Buffer): Buffer {
  const trimmed = withoutSlashes(path)
  return trimmed.length === 0 ? SLASH : trimmed.subarray(trimmed.lastIndexOf(SLASH) + 1)
}

/** Without those at its end; empty for the root. */
function withoutSlashes(path: Buffer): Buffer {
  let end = path.length
  while (end > 0 && path[end - 1] === SLASH[0]) end -= 1
  return path.subarray(0, end)
}
