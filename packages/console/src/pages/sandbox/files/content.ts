import type { FileEntry, Sandbox } from '@offshoot/sdk'

/** Bytes of the largest file that is shown. */
export const MAX_SHOWN_BYTES = 2 * 1024 * 1024

/** Images that cannot contain a script. An SVG can, so it is shown as its text. */
const IMAGES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
}

export type Content =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'image'; readonly image: Blob }
  | { readonly is: 'binary' }
  | { readonly is: 'large' }

/** Identifies a version of a file. */
export type Version = string

export function versionOf({ mtimeMs, size, mode }: FileEntry): Version {
  return `${mtimeMs}-${size}-${mode}`
}

export interface LoadedFile {
  readonly entry: FileEntry
  readonly content: Content
}

export async function load(sandbox: Sandbox, path: string, signal?: AbortSignal): Promise<LoadedFile> {
  const entry = await sandbox.files.stat(path, { signal })
  const type = entry.targetType ?? entry.type
  if (type !== 'file') return { entry, content: { is: 'binary' } }
  if (entry.size > MAX_SHOWN_BYTES) return { entry, content: { is: 'large' } }
  // The target of a link may be larger than the link.
  const bytes = await sandbox.files.readBytes(path, { length: MAX_SHOWN_BYTES + 1, signal })
  return { entry, content: bytes.length > MAX_SHOWN_BYTES ? { is: 'large' } : contentOf(path, bytes) }
}

export function contentOf(path: string, bytes: Uint8Array<ArrayBuffer>): Content {
  const type = IMAGES[extensionOf(path)]
  if (type !== undefined) return { is: 'image', image: new Blob([bytes], { type }) }
  if (bytes.includes(0)) return { is: 'binary' }
  try {
    return { is: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { is: 'binary' }
  }
}

export function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
}
