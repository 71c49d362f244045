import type { FileEntry, Sandbox } from '@offshoot/sdk'
import { baseName } from './tree.ts'

export interface Difference {
  readonly path: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly before: FileEntry | null
  readonly after: FileEntry | null
}

/** Folders whose content the kernel and running programs make. */
const VOLATILE: ReadonlySet<string> = new Set(['dev', 'proc', 'run', 'sys'])
const MAX_DEPTH = 100

/**
 * What differs between two states of a file system. A copy keeps the times of its files, so equal files have an equal
 * size, mode and time.
 */
export function compare(before: readonly FileEntry[], after: readonly FileEntry[]): readonly Difference[] {
  const old = new Map(before.map((entry) => [entry.path, entry]))
  const found: Difference[] = []
  for (const entry of after) {
    const earlier = old.get(entry.path) ?? null
    old.delete(entry.path)
    if (earlier === null) found.push({ path: entry.path, change: 'added', before: null, after: entry })
    else if (!areEqual(earlier, entry))
      found.push({ path: entry.path, change: 'changed', before: earlier, after: entry })
  }
  for (const entry of old.values()) found.push({ path: entry.path, change: 'removed', before: entry, after: null })
  return found.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}

function areEqual(a: FileEntry, b: FileEntry): boolean {
  if (a.type !== b.type || a.mode !== b.mode || a.uid !== b.uid || a.gid !== b.gid) return false
  // The time of a folder changes with what is in it, which is listed itself.
  return a.isDir || (a.size === b.size && a.mtimeMs === b.mtimeMs && a.target === b.target)
}

/** Everything below a folder. */
export async function listAll(sandbox: Sandbox, folder: string, signal?: AbortSignal): Promise<readonly FileEntry[]> {
  if (folder !== '/') return sandbox.files.list(folder, { depth: MAX_DEPTH, signal })
  const top = await sandbox.files.list('/', { signal })
  const inner = top.filter(({ isDir, path }) => isDir && !VOLATILE.has(baseName(path)))
  const below = await Promise.all(inner.map(({ path }) => sandbox.files.list(path, { depth: MAX_DEPTH, signal })))
  return [...top, ...below.flat()]
}
