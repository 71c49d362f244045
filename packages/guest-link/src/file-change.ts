/** A change below a watched folder. Paths are relative to it, and may hold any bytes but NUL. */
export type FileChange =
  | { readonly kind: 'created' | 'modified' | 'deleted'; readonly isFolder: boolean; readonly path: Buffer }
  | { readonly kind: 'moved'; readonly isFolder: boolean; readonly path: Buffer; readonly target: Buffer }
  /** Changes came faster than they were read, and some are lost: scan the folder again. */
  | { readonly kind: 'overflow' }

/** Size of the fixed part of a record. Path and target follow it. */
export const CHANGE_BYTES = 6

export function changeTextBytes(fixed: Buffer): number {
  return fixed.readUInt16LE(2) + fixed.readUInt16LE(4)
}

const simple = { 1: 'created', 2: 'modified', 3: 'deleted' } as const
const READY = 0
const MOVED = 4
const OVERFLOW = 5

/** `ready`: the watch misses no change from here on. `ended`: the watched folder itself is gone. */
export function decodeChange(fixed: Buffer, text: Buffer): FileChange | 'ready' | 'ended' {
  const kind = fixed.readUInt8(0)
  const isFolder = fixed.readUInt8(1) !== 0
  const pathBytes = fixed.readUInt16LE(2)
  const path = text.subarray(0, pathBytes)
  if (kind === 1 || kind === 2 || kind === 3) return { kind: simple[kind], isFolder, path }
  if (kind === MOVED) return { kind: 'moved', isFolder, path, target: text.subarray(pathBytes) }
  if (kind === OVERFLOW) return { kind: 'overflow' }
  return kind === READY ? 'ready' : 'ended'
}
