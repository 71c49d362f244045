import type { FileEntry } from '@offshoot/guest-link/file-entry'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Sandbox } from '../model/sandbox.ts'

/** Names of a sandbox's users and groups, by their numbers. */
export interface OwnerNames {
  readonly users: ReadonlyMap<number, string>
  readonly groups: ReadonlyMap<number, string>
}

interface Kept extends OwnerNames {
  readonly readAtMs: number
}

/** Milliseconds after which the names are read again. */
const TRUSTED_MS = 10_000
/** Bytes of each file. What follows is ignored. */
const MAX_BYTES = 256 * 1024
const MAX_NAME_CHARS = 256

/** The names end with the sandbox's object. */
const kept = new WeakMap<Sandbox, Kept>()

/**
 * The names in the sandbox's `/etc/passwd` and `/etc/group`. They are read again if one of the entries has a number that
 * they lack. A sandbox without these files has no names.
 */
export async function ownerNames(
  sandbox: Sandbox,
  files: GuestFiles,
  entries: readonly FileEntry[],
  deadline: Deadline,
): Promise<OwnerNames> {
  const known = kept.get(sandbox)
  const isFresh = known !== undefined && performance.now() - known.readAtMs < TRUSTED_MS
  if (isFresh && entries.every(({ uid, gid }) => known.users.has(uid) && known.groups.has(gid))) return known
  const readAtMs = performance.now()
  const [users, groups] = await Promise.all([
    readNames(files, '/etc/passwd', deadline),
    readNames(files, '/etc/group', deadline),
  ])
  const names = { users, groups, readAtMs }
  kept.set(sandbox, names)
  return names
}

/** Files are the guest's, so their content may be anything. */
async function readNames(files: GuestFiles, path: string, deadline: Deadline): Promise<Map<number, string>> {
  try {
    const { stream } = await files.read(path, { length: MAX_BYTES, deadline })
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return parseNames(Buffer.concat(chunks).toString())
  } catch {
    return new Map()
  }
}

/** Lines `name:password:number:…`. The first name of a number counts, as for `ls`. */
export function parseNames(text: string): Map<number, string> {
  const names = new Map<number, string>()
  for (const line of text.split('\n')) {
    const [name = '', , digits = ''] = line.split(':', 3)
    const isUsable = name !== '' && name.length <= MAX_NAME_CHARS && /^\d{1,10}$/.test(digits)
    if (isUsable && !names.has(Number(digits))) names.set(Number(digits), name)
  }
  return names
}
