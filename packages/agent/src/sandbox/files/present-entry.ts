import { isUtf8 } from 'node:buffer'
import type { FileEntry } from '@offshoot/contract/file'
import type { DetailedFileEntry } from '@offshoot/guest-link/file-entry'
import type { FileAccount } from '@offshoot/guest-link/guest-files'
import { guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

const SLASH = Buffer.from('/')
const UNRESERVED = /[\w.~/-]/

/** The API's description of the file at a path. @throws ApiError */
export async function statEntry({
  sandbox,
  path,
  account,
}: {
  readonly sandbox: Sandbox
  readonly path: Buffer
  readonly account: FileAccount
}): Promise<FileEntry> {
  const deadline = guestDeadline(`a file of ${sandbox.id}`)
  return presentEntry(path, await withGuest(sandbox, ({ files }) => files.stat(path, { ...account, deadline })))
}

/** The API's description of an entry. @param path of the entry itself */
export function presentEntry(path: Buffer, entry: DetailedFileEntry): FileEntry {
  const { type, size, mtimeMs, uid, gid, target, linked } = entry
  return {
    name: lastPart(path).toString(),
    ...nameFields('path', path),
    type,
    is_dir: type === 'dir',
    size,
    mode: formatMode(entry.mode),
    mtime: Math.floor(mtimeMs / 1000),
    mtime_ms: Math.floor(mtimeMs),
    uid,
    gid,
    user: entry.userName ?? String(uid),
    group: entry.groupName ?? String(gid),
    ...(target !== null && nameFields('target', target)),
    ...(linked !== null && linked.path !== null && nameFields('target_path', linked.path)),
    ...(linked !== null && { target_type: linked.type, target_mode: formatMode(linked.mode) }),
  }
}

function formatMode(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

export function childPath(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([withoutSlashes(folder), SLASH, name])
}

function lastPart(path: Buffer): Buffer {
  const trimmed = withoutSlashes(path)
  return trimmed.length === 0 ? SLASH : trimmed.subarray(trimmed.lastIndexOf(SLASH) + 1)
}

/** Without trailing slashes; empty for the root. */
function withoutSlashes(path: Buffer): Buffer {
  let end = path.length
  while (end > 0 && path[end - 1] === SLASH[0]) end -= 1
  return path.subarray(0, end)
}

/** The JSON fields of a name: as text and, if it is not valid UTF-8, also percent-encoded under `<key>_encoded`. */
export function nameFields<Key extends string>(key: Key, bytes: Buffer): NameFields<Key> {
  const text = { [key]: bytes.toString() }
  const shown = isUtf8(bytes) ? text : { ...text, [`${key}_encoded`]: percentEncode(bytes) }
  // TypeScript types a computed key as `string`.
  return shown as NameFields<Key>
}

type NameFields<Key extends string> = Record<Key, string> & Partial<Record<`${Key}_encoded`, string>>

function percentEncode(bytes: Buffer): string {
  return [...bytes].map((byte) => encodeByte(byte)).join('')
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}
