import type { FileEntry } from '@offshoot/guest-link/file-entry'

/** Changes with the time of change and the size, as web servers make it. */
export function formatEntityTag({ mtimeMs, size }: FileEntry): string {
  return `"${Math.round(mtimeMs * 1000).toString(16)}-${size.toString(16)}"`
}

/** Whether a list of tags (`If-None-Match`) has this one, by weak comparison (RFC 9110, 8.8.3.2). */
export function listsTag(header: string, tag: string): boolean {
  const tags = new Set(header.split(',').map((each) => each.trim().replace(/^W\//, '')))
  return tags.has('*') || tags.has(tag)
}
