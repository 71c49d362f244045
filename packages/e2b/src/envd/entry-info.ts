import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type FileEntry, fileEntry } from '@offshoot/contract/file'
import { type EntryInfoSchema, FileType } from '../generated/filesystem/filesystem_pb.js'
import type { EnvdCall } from './call.ts'

type EntryInfo = MessageInitShape<typeof EntryInfoSchema>

/** What `ls -l` shows before the permissions; a link as E2B's service shows it. */
const TYPES: Readonly<Record<FileEntry['type'], { readonly type: FileType; readonly letter: string }>> = {
  file: { type: FileType.FILE, letter: '-' },
  dir: { type: FileType.DIRECTORY, letter: 'd' },
  symlink: { type: FileType.SYMLINK, letter: 'L' },
  other: { type: FileType.UNSPECIFIED, letter: '?' },
}

/** One entry. Links are not followed. @throws {ControlRefused} 404 if it is missing, 400 for an unknown user */
export function statEntry(call: EnvdCall, path: string, user: string): Promise<FileEntry> {
  return call.control.read(fileEntry, call.request('GET', '/fs/stat', { query: { path, owner: user } }))
}

/** A link has the type and the mode of what it leads to, as E2B's own service shows it. */
export function presentEntry(entry: FileEntry): EntryInfo {
  const { name, path, type, size, mtime_ms: mtimeMs, target, user, group } = entry
  const bits = Number.parseInt(entry.target_mode ?? entry.mode, 8)
  const { letter } = TYPES[type]
  return {
    name,
    path,
    type: TYPES[entry.target_type ?? type].type,
    size: BigInt(size),
    mode: bits & 0o777,
    permissions: `${letter}${permissionsOf(bits)}`,
    owner: user,
    group,
    modifiedTime: timestampFromMs(mtimeMs),
    ...(target !== undefined && { symlinkTarget: entry.target_path ?? target }),
  }
}

/** `rwxr-xr-x`. */
function permissionsOf(bits: number): string {
  return Array.from({ length: 9 }, (_, index) => ((bits >> (8 - index)) & 1 ? 'rwx'[index % 3] : '-')).join('')
}
