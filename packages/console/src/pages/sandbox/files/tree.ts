import type { FileEntry } from '@offshoot/sdk'

/** A visible row of the tree. */
export interface TreeRow {
  readonly entry: FileEntry
  readonly level: number
  readonly isExpanded: boolean
  /** Its content is being read. */
  readonly isLoading: boolean
}

/** Whether it can be opened as a folder: also a link to one. */
export function isFolder({ isDir, targetType }: FileEntry): boolean {
  return isDir || targetType === 'dir'
}

/** The path of a file or folder in a folder. */
export function join(folder: string, name: string): string {
  return `${folder === '/' ? '' : folder}/${name}`
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || '/'
}

/** All folders that lead to a path, `/` first. */
export function ancestorsOf(path: string): readonly string[] {
  const found = ['/']
  for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) found.push(path.slice(0, at))
  return found
}

const collator = new Intl.Collator('en', { numeric: true })

/** Folders first, then by name. */
export function sorted(entries: readonly FileEntry[]): readonly FileEntry[] {
  return entries.toSorted((a, b) => Number(isFolder(b)) - Number(isFolder(a)) || collator.compare(a.name, b.name))
}

/** The rows below a folder, with the content of the folders that are expanded. */
export function visibleRows(
  folder: string,
  expanded: ReadonlySet<string>,
  listings: ReadonlyMap<string, readonly FileEntry[]>,
  level = 1,
): readonly TreeRow[] {
  return sorted(listings.get(folder) ?? []).flatMap((entry) => {
    const isExpanded = isFolder(entry) && expanded.has(entry.path)
    const row = { entry, level, isExpanded, isLoading: isExpanded && !listings.has(entry.path) }
    return isExpanded ? [row, ...visibleRows(entry.path, expanded, listings, level + 1)] : [row]
  })
}
